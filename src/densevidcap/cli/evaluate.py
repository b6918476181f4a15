"""`densevidcap evaluate`: how good sentences are, and whether they are where their things are."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from densevidcap.cli.clips import OVERWRITE
from densevidcap.cli.printing import echo
from densevidcap.export.formats import ENDINGS, SET_FORMATS
from densevidcap.outputs import Inputs, check_outputs

if TYPE_CHECKING:
    from rich.table import Table

    from densevidcap.data.boxes import BoxFile
    from densevidcap.data.lsa import LatentSpace
    from densevidcap.metrics.bootstrap import Interval
    from densevidcap.metrics.captions import CaptionScores
    from densevidcap.metrics.dense import DenseScores
    from densevidcap.metrics.grounding import SentenceGrounding
    from densevidcap.metrics.report import DenseReport
    from densevidcap.metrics.sentence_files import SentenceFile
    from densevidcap.types import Caption


@click.command("evaluate")
@click.option(
    "--predictions",
    type=click.Path(path_type=Path),
    required=True,
    help='{"video": ["best sentence", "next", ...]}, a COCO results list, or what `densevidcap '
    "caption --format json` wrote: the folder, or a file of it.",
)
@click.option(
    "--references",
    type=click.Path(path_type=Path),
    help="A manifest (.jsonl), MSR-VTT's JSON or the form of predictions. Needed but for --boxes.",
)
@click.option("--split", help="Only the references of this split.  [default: all]")
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    help="Another system's predictions of the same videos: adds how far these lie above them.",
)
@click.option(
    "--train-captions",
    type=click.Path(path_type=Path),
    help="Adds the dense report, whose latent space is learned from this file's split 'train'.",
)
@click.option(
    "--boxes",
    type=click.Path(path_type=Path),
    help="Adds whether sentences' boxes are on the things that they name: this file has those.",
)
@click.option("-k", type=click.IntRange(1), help="Only a clip's first k sentences.  [default: all]")
@click.option(
    "--java",
    is_flag=True,
    help="Run the COCO code's own jars for METEOR and the tokenizer: the same scores, later.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Write all scores as JSON.")
@OVERWRITE
def command(
    predictions: Path,
    references: Path | None,
    split: str | None,
    against: Path | None,
    train_captions: Path | None,
    boxes: Path | None,
    k: int | None,
    java: bool,
    out: Path | None,
    overwrite: bool,
) -> None:
    """Score sentences with BLEU, METEOR, ROUGE-L and CIDEr, as the COCO caption code does.

    Each video's first sentence is scored. With --against, also how much
    better it is than another system's, with a 95% interval that draws
    videos, the same for both. With --train-captions, also each video's
    sentences together: averaged precision of the top 5 and 10 beside the
    oracle's ranking, how different they are, and what that is worth. Of
    results with confidence, whether they are right, and whether confidence
    tells. With --boxes, whether each sentence is where the things are that
    it names.
    """
    if references is None and (boxes is None or train_captions is not None or against is not None):
        raise click.UsageError("Missing option '--references'.")
    if against is not None and java:
        raise click.UsageError("--against needs METEOR of every draw: leave out --java.")
    if out is not None:
        inputs = Inputs(files=[predictions, references, against, train_captions, boxes])
        check_outputs([out], inputs, overwrite)
    said, predicted = _read_sentences(predictions, k)
    truth = None if boxes is None else _read_truth(predictions, said, boxes)
    scores: dict[str, object] = {}
    if references is not None:
        known = _read_known(predicted, said, references, split)
        others = None if against is None else _read_others(against, predicted)
        scores = _score_sentences(predicted, known, others, train_captions, java)
        if said:
            scores |= _tell_reliability(said, known, truth)
    if truth is not None:
        from densevidcap.metrics.grounding import ground_sentences

        grounding = ground_sentences(said, truth)
        _print_grounding(grounding)
        scores["grounding"] = asdict(grounding)
    if out is not None:
        _write(out, scores)


def _read_sentences(path: Path, k: int | None) -> tuple[dict[str, Sequence[Caption]], SentenceFile]:
    """A clip's first k captions, none if there are only sentences; and the sentences."""
    from densevidcap.metrics.sentence_files import check_sentences, read_predictions

    said = {clip: captions[:k] for clip, captions in _read_results(path).items()}
    if said:
        texts = {clip: [each.text for each in captions] for clip, captions in said.items()}
        # Of a silent clip there is nothing to score; that it is silent is told elsewhere.
        return said, check_sentences(path, {clip: each for clip, each in texts.items() if each})
    read = read_predictions(path)
    if read.faults:
        return {}, read
    return {}, replace(read, sentences={clip: s[:k] for clip, s in read.sentences.items()})


_OTHERS = tuple(
    ending
    for ending in (*ENDINGS.values(), *(each.ending for each in SET_FORMATS.values()))
    if ending.endswith(".json") and ending != ENDINGS["json"]
)
"""How other exports end that are JSON too."""


def _read_results(path: Path) -> dict[str, Sequence[Caption]]:
    """The captions of each clip, if it is a folder of results or one of them."""
    from densevidcap.errors import CorpusError
    from densevidcap.export.json_file import read_captions

    files = [path]
    if path.is_dir():
        # Other exports may lie beside results; a clip's own name may end like theirs too.
        found = sorted(path.glob("*.json"))
        files = [file for file in found if not file.name.endswith(_OTHERS) or _is_result(file)]
        if not files:
            raise CorpusError(
                f"{path}: no results in it; write them with: densevidcap caption CLIP "
                "--format json --out FOLDER"
            )
    elif not _is_result(path):
        return {}
    return {file.stem: read_captions(file).captions for file in files}


def _is_result(path: Path) -> bool:
    from densevidcap.data.text_files import read_json

    content = read_json(path, file_names=True)
    return isinstance(content, dict) and {"version", "captions"} <= content.keys()


def _read_truth(predictions: Path, said: Mapping[str, Sequence[Caption]], boxes: Path) -> BoxFile:
    from densevidcap.data.boxes import read_boxes
    from densevidcap.errors import CorpusError

    if not said:
        raise CorpusError(
            f"{predictions}: has sentences without boxes; give the folder that "
            "`densevidcap caption CLIP --format json --out FOLDER` writes"
        )
    return read_boxes(boxes)


def _read_known(
    predicted: SentenceFile,
    said: Mapping[str, Sequence[Caption]],
    references: Path,
    split: str | None,
) -> Mapping[str, Sequence[str]]:
    """The references of each clip of which something, or nothing, is said."""
    from densevidcap.metrics.sentence_files import compare_videos, read_references

    known = read_references(references, split)
    silent = {clip: [""] for clip, captions in said.items() if not captions}
    both = replace(predicted, sentences={**predicted.sentences, **silent})
    _refuse([*predicted.faults, *known.faults, *compare_videos(both, known)])
    return known.sentences


def _read_others(against: Path, predicted: SentenceFile) -> SentenceFile:
    """Another system's sentences of the same videos."""
    from densevidcap.metrics.sentence_files import compare_videos

    _, others = _read_sentences(against, 1)
    _refuse([*others.faults, *compare_videos(others, predicted)])
    return others


def _refuse(faults: Sequence[str]) -> None:
    for fault in faults:
        echo(f"densevidcap: {fault}", err=True)
    if faults:
        sys.exit(1)


def _score_sentences(
    predicted: SentenceFile,
    known: Mapping[str, Sequence[str]],
    others: SentenceFile | None,
    train_captions: Path | None,
    java: bool,
) -> dict[str, object]:
    """Print the captions' scores, and give them for JSON."""
    from densevidcap.cli.console import Console
    from densevidcap.metrics.captions import describe_evaluator
    from densevidcap.metrics.report import evaluate

    references = {clip: known[clip] for clip in predicted.sentences}
    with Console(stderr=True).status("Scoring"):
        space = None if train_captions is None else _learn_space(train_captions)
        against = None if others is None else others.sentences
        report = evaluate(predicted.sentences, references, space, java, against)
    evaluator = describe_evaluator(java)
    console = Console()
    console.print(_tabulate_first(report.first))
    if others is not None and report.difference is not None:
        console.print(_tabulate_difference(report.difference, others.path))
    if silent := len(known) - len(references):
        echo(f"Of {silent:,} more videos nothing is said: they are not scored here")
    if report.dense is not None:
        console.print(_tabulate_ranking(report.dense), _tabulate_density(report.dense))
        echo(
            f"At an equal CIDEr the null curve reaches a D_div of {report.dense.null_diversity:.3f}"
        )
    echo("; ".join(f"{name} {value}" for name, value in evaluator.items()))
    return {
        "evaluator": evaluator,
        **asdict(report.first),
        "dense": report.dense and asdict(report.dense),
        "difference": report.difference,
    }


def _tell_reliability(
    said: Mapping[str, Sequence[Caption]],
    known: Mapping[str, Sequence[str]],
    truth: BoxFile | None,
) -> dict[str, object]:
    """Print whether sentences are right and known to be, and give it for JSON."""
    from densevidcap.cli.console import Console
    from densevidcap.metrics.reliability import measure_reliability, measure_things

    found = measure_reliability(said, known)
    table = _make_table(
        "Content words that a reference has, in %, with 95% intervals over clips",
        *("precision", "all right", "bad"),
    )
    for who, shares in found.shares.items():
        table.add_row(who, *map(_show_interval, (shares.precision, shares.right, shares.bad)))
    Console().print(table)
    auc = "" if found.auc is None else f"AUC {found.auc:.3f} for all right, "
    parts = " ".join(f"{part.said:.2f}:{part.true:.2f}" for part in found.parts)
    echo(
        f"{found.sentences:.2f} sentences a clip of {found.length:.2f} content words, "
        f"{found.silent:,} of {found.clips:,} clips silent\n"
        f"Confidence: {auc}off by {found.calibration_error:.3f} (said:true {parts})"
    )
    scores: dict[str, object] = {"reliability": asdict(found)}
    if truth is not None:
        things = measure_things(said, known, truth)
        echo(
            f"Things that are there: {things.there:,}, named {_show_share(things.covered)}, with a "
            f"box on it {_show_share(things.boxed)}, named by people {_show_share(things.told)}\n"
            f"Things that are named: {things.named:,}, invented {_show_share(things.invented)}"
        )
        scores["things"] = asdict(things)
    return scores


def _show_share(share: float | None) -> str:
    return "-" if share is None else f"{_percent(share)}%"


def _learn_space(path: Path) -> LatentSpace:
    from densevidcap.data.lsa import LatentSpace
    from densevidcap.errors import CorpusError
    from densevidcap.metrics.sentence_files import read_references

    captions = read_references(path, "train").sentences.values()
    try:
        return LatentSpace.fit(caption for of_clip in captions for caption in of_clip)
    except ValueError as error:
        raise CorpusError(f"{path}: too few captions ({error}); give more") from error


def _tabulate_first(scores: CaptionScores) -> Table:
    table = _make_table(f"First sentence of {len(scores.videos):,} videos", *scores.overall)
    table.add_row("all", *map(_percent, scores.overall.values()))
    return table


def _tabulate_difference(difference: Mapping[str, Interval], against: Path) -> Table:
    title = f"Above {against.name}, with the ends of 95% intervals over videos"
    table = _make_table(title, *difference)
    for name, figures in zip(
        ("more", "from", "to"), zip(*difference.values(), strict=True), strict=True
    ):
        table.add_row(name, *(f"{100 * each:+.1f}" for each in figures))
    return table


def _tabulate_ranking(report: DenseReport) -> Table:
    """The paper's Table 5, for one system."""
    from densevidcap.metrics.dense import PAPER_METRICS

    table = _make_table("Averaged precision", *PAPER_METRICS)
    scores = report.predicted

    def add(name: str, row: Mapping[str, float]) -> None:
        table.add_row(name, *(_percent(row[metric]) for metric in PAPER_METRICS))

    for top, precision in scores.precision.items():
        oracle = scores.oracle[top]
        add(f"top {top}", precision)
        add("  oracle ranking (ORE)", oracle)
        shares = {m: precision[m] / oracle[m] if oracle[m] else 1.0 for m in PAPER_METRICS}
        add("  in % of ORE", shares)
        add("  mean of single sentences", scores.single[top])
        table.add_section()
    add(f"best of {report.count}", scores.best)
    return table


def _tabulate_density(report: DenseReport) -> Table:
    count = report.count
    table = _make_table(
        f"Density of {count} sentences: different ones, D_div, CIDEr, and content words",
        *("differ", "D_div", f"CIDEr@{count}", "best", "right", "said", "found"),
    )

    def add(name: str, scores: DenseScores) -> None:
        table.add_row(
            name,
            f"{scores.different:.1f}",
            f"{scores.diversity:.3f}",
            _percent(scores.precision[count]["CIDEr"]),
            _percent(scores.best["CIDEr"]),
            f"{scores.content.precision:.2f}",
            f"{scores.content.said:.1f}",
            f"{scores.content.found:.1f}",
        )

    add("predictions", report.predicted)
    for strangers, scores in report.null.items():
        add(f"null, {strangers} strangers", scores)
    if report.human is not None:
        add("human", report.human)
    return table


def _print_grounding(grounding: SentenceGrounding) -> None:
    from densevidcap.cli.console import Console

    found = grounding.found
    table = _make_table(
        "Boxes on the things that sentences name, in %, with 95% intervals over clips",
        *("cases", "centre on it", "IoU", "IoU >= .5"),
    )
    for name, group in found.groups.items():
        for number, (who, scores) in enumerate(group.scores.items()):
            title, cases = ("  " + who, "") if number else (f"{name}: {who}", f"{group.cases:,}")
            figures = (scores.pointing, scores.iou, scores.good)
            table.add_row(title, cases, *map(_show_interval, figures))
        table.add_section()
    Console().print(table)
    steady = grounding.steadiness
    neighbours = "" if steady is None else f"; IoU of neighbouring frames' boxes {steady:.3f}"
    edges = ", ".join(f"{edge:g}" for edge in found.constant)
    echo(
        f"{grounding.different:.1f} different boxes of {grounding.boxes:.1f} a clip{neighbours}\n"
        f"The best constant box, ({edges}), was found on these cases"
    )


def _show_interval(interval: Interval | None) -> str:
    if interval is None:
        return ""
    return f"{_percent(interval.mean)} ({100 * interval.low:.0f}-{100 * interval.high:.0f})"


def _make_table(title: str, *headings: str) -> Table:
    from rich import box
    from rich.table import Column, Table

    table = Table(Column(no_wrap=True), title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _write(path: Path, content: object) -> None:
    from densevidcap.data.text_files import replace_text

    with replace_text(path) as stream:
        json.dump(content, stream, indent=1)
