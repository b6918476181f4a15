"""One sentence a clip (Tables 1 to 4): who says it better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from densevidcap.metrics.bootstrap import draw_videos
from densevidcap.metrics.captions import CaptionScorer, CaptionScores, score_captions
from densevidcap.metrics.dense import PAPER_METRICS
from densevidcap.metrics.report import hold_out
from densevidcap.model_folder import read_card
from densevidcap.repro.candidates import say
from densevidcap.repro.claims import Array, Resampled, measure_claims
from densevidcap.repro.definition import Claim, Experiment, Row
from densevidcap.repro.results import Curve, Line, Outcome, Picture, Table
from densevidcap.repro.runner import Runner
from densevidcap.repro.words import compare_detection

COLUMNS = ("METEOR", "BLEU@4", "ROUGE-L", "CIDEr")
"""The paper's names of its metrics."""


def compare_single(runner: Runner, experiment: Experiment, claims: Sequence[Claim]) -> Outcome:
    """Train what is missing, let each system say its sentences, and score them."""
    systems = [row for row in experiment.rows if row.system and _can_run(runner, row)]
    said = {row.name: say(runner, row) for row in systems if row.system != "human"}
    runner.progress.count("scoring")
    draws = draw_videos(len(runner.clips))
    with CaptionScorer(runner.references) as scorer:
        scores = dict(zip(said, scorer.score_many([*said.values()]), strict=True))
        lines = {name: _resample(scorer, scores[name], said[name], draws) for name in said}
    scores |= {row.name: _score_people(runner) for row in systems if row.system == "human"}
    table = tuple(
        Line(row.name, _list_figures(scores, row.name), row.paper) for row in experiment.rows
    )
    tables, tested = [Table("", COLUMNS, table), _list_intervals(lines)], {"": lines}
    if any(row.words for row in systems):
        found = compare_detection(runner, systems, draws)
        tables.append(found.table)
        tested[found.table.title] = found.lines
    trained = [row for row in systems if row.system not in ("model", "human")]
    training, curves = describe_training(runner, trained)
    tables.extend([training] if trained else [])
    pictures = (Picture(f"{experiment.name}-curves", *CURVES, curves),) if trained else ()
    return Outcome(tuple(tables), measure_claims(claims, tested), pictures)


INTERVALS = "Half of the 95% interval, over clips"
CURVES = ("Captioners on held-out clips", "epoch", "nats a word")
"""Title and axes."""


def _can_run(runner: Runner, row: Row) -> bool:
    """Whether what it needs is there. If not, the row stays as published; the notes say why."""
    if row.system == "model":
        return True
    if lack := _find_lonely(runner) if row.system == "human" else runner.find_lack(row):
        runner.lacks[row.name] = lack
        runner.progress.say(f"not run: {row.name}: {lack}")
    return not lack


def _find_lonely(runner: Runner) -> str:
    """Why people cannot be measured: a clip that but one sentence is known of; empty if none is."""
    lonely = [clip for clip, captions in runner.references.items() if len(captions) < 2]
    return f"clip '{lonely[0]}' has a single caption and none to compare it with" if lonely else ""


def describe_training(runner: Runner, rows: Sequence[Row]) -> tuple[Table, tuple[Curve, ...]]:
    """What each captioner's training cost, and how it went: a rival is to have what it needs."""
    lines, curves = {}, {}
    for row in rows:
        for folder in runner.find_captioners(row):
            history = read_card(folder)["history"]
            losses = tuple(float(entry.get("val_loss", entry["loss"])) for entry in history)
            last = history[-1]
            before = losses[-2] if len(losses) > 1 else losses[-1]
            figures = (last["epoch"], last["step"], runner.tell_time(folder) / 60, before)
            lines[folder.name] = Line(folder.name, tuple(map(float, (*figures, losses[-1]))))
            epochs = tuple(float(entry["epoch"]) for entry in history)
            # Losses of different clips are no curves to compare.
            if not runner.find_system(row).section.each_category:
                curves[folder.name] = Curve(folder.name, epochs, losses)
    columns = ("epochs", "steps", "CPU-minutes", "nats a word before the last epoch", "after it")
    return Table("Training", columns, tuple(lines.values()), digits=2), tuple(curves.values())


def _resample(
    scorer: CaptionScorer, scores: CaptionScores, said: Mapping[str, str], draws: Array
) -> Resampled:
    drawn = scorer.resample(said, draws)
    return Resampled(
        COLUMNS,
        100 * np.array([scores.overall[metric] for metric in PAPER_METRICS]),
        100 * np.stack([drawn[metric] for metric in PAPER_METRICS], axis=1),
    )


def _list_intervals(lines: Mapping[str, Resampled]) -> Table:
    """How far the clips that happen to be measured may move each figure."""
    rows = []
    for name, line in lines.items():
        measured = line.measure()
        rows.append(Line(name, tuple((each.high - each.low) / 2 for each in measured)))
    return Table(INTERVALS, COLUMNS, tuple(rows))


def _score_people(runner: Runner) -> CaptionScores:
    """A drawn caption of each clip against its others."""
    drawn, others = hold_out(runner.references, 1)
    return score_captions({clip: sentence for clip, (sentence,) in drawn.items()}, others)


def _list_figures(scores: Mapping[str, CaptionScores], name: str) -> tuple[float, ...]:
    if name not in scores:
        return ()
    return tuple(100 * scores[name].overall[metric] for metric in PAPER_METRICS)
