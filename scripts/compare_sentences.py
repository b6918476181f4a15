"""Train captioners that differ in one thing and print what each says (Tables 1 and 3).

    python scripts/compare_sentences.py MANIFEST WORDS OUT [--cache DIR] [--only NAME …]

One sentence a clip, of its most informative sequence, by beam search. A variant that OUT holds
already is not trained again, and one that was cut off goes on.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click
import torch
from rich.console import Console
from rich.table import Table

from densevidcap.data.sampling import Sampling
from densevidcap.evaluation.bootstrap import bootstrap_difference
from densevidcap.evaluation.captions import CaptionScorer, CaptionScores
from densevidcap.fits import HELD_OUT, AboutOptions
from densevidcap.language.beams import BeamOptions
from densevidcap.language.captioner import CaptionerOptions
from densevidcap.language.category import mark_category
from densevidcap.language.describer import Describer
from densevidcap.language.fitting import SentencesFit, SentencesRecipe
from densevidcap.language.learning import SentenceOptions
from densevidcap.language.library import LibraryOptions
from densevidcap.language.views import StreamOptions
from densevidcap.training import Silence, TrainingOptions

PLAIN = SentencesRecipe(
    Sampling(),
    StreamOptions(frames=("regions",), whole=()),
    CaptionerOptions(anchor=False),
    LibraryOptions(pairing="winner"),
    SentenceOptions(min_count=5),
    TrainingOptions(epochs=3, average=0.998),
    AboutOptions(),
)
"""The paper's: bi-directional S2VT on region-sequences, winner-takes-all, nothing else."""

FRAMES = StreamOptions(frames=("frames",), whole=())
CATEGORY = StreamOptions(frames=("regions",), whole=("category",), dropout={"category": 0.2})

VARIANTS = {
    "mean-pooling": replace(
        PLAIN, streams=FRAMES, captioner=CaptionerOptions("mean-pooling", anchor=False)
    ),
    "soft-attention": replace(
        PLAIN, streams=FRAMES, captioner=CaptionerOptions("soft-attention", anchor=False)
    ),
    "s2vt on frames": replace(
        PLAIN, streams=FRAMES, captioner=CaptionerOptions("s2vt", anchor=False)
    ),
    "s2vt": replace(PLAIN, captioner=CaptionerOptions("s2vt", anchor=False)),
    "bi-s2vt": PLAIN,
    "bi-s2vt, category-wise": replace(PLAIN, streams=CATEGORY),
    "ours": replace(
        PLAIN,
        streams=StreamOptions(
            dropout={"frames": 0.3, "clip": 0.3, "clip_words": 0.3, "category": 0.3}
        ),
        captioner=CaptionerOptions(),
        library=LibraryOptions(pairing="spread"),
    ),
}

METRICS = ("METEOR", "Bleu_4", "ROUGE_L", "CIDEr")
KNOWN = {"no category": 0, "predicted": 3, "given": 1}
"""What is known of a clip's category, and how many of those that are probable are tried."""


def fit_variant(
    recipe: SentencesRecipe, manifest: Path, words: Path, cache: Path, folder: Path
) -> SentencesFit:
    fit = SentencesFit(manifest, words, recipe, folder)
    failures = fit.read_clips(cache, lambda: None, lambda: None)
    if failures:
        raise SystemExit("\n".join(failures.values()))
    if not (folder / "card.json").exists():
        fit.train(Silence())
    return fit


def say_one(fit: SentencesFit, known: str) -> dict[str, str]:
    """A sentence for each held-out clip."""
    describer = Describer.load(fit.out)
    said = {}
    for record in fit.clips:
        if record.split not in HELD_OUT:
            continue
        view = fit.library.view(record.id)
        if known == "given" and describer.classifier is not None:
            view = mark_category(view, describer.classifier.categories, record.category)
        found = describer.propose(view, BeamOptions(), sequences=[0], categories=KNOWN[known])
        best = max(found, key=lambda candidate: candidate.score)
        said[record.id] = describer.say(best.words)
    return said


@click.command()
@click.argument("manifest", type=click.Path(path_type=Path))
@click.argument("words", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--cache", type=click.Path(path_type=Path), default=Path("cache"))
@click.option("--only", multiple=True, type=click.Choice(list(VARIANTS)))
@click.option("--epochs", default=3)
@click.option("--threads", default=0)
def main(
    manifest: Path,
    words: Path,
    out: Path,
    cache: Path,
    only: tuple[str, ...],
    epochs: int,
    threads: int,
) -> None:
    if threads:
        torch.set_num_threads(threads)
    results: dict[str, CaptionScores] = {}
    scorer: CaptionScorer | None = None
    for name in only or VARIANTS:
        recipe = VARIANTS[name]
        recipe = replace(recipe, training=replace(recipe.training, epochs=epochs))
        folder = out / name.replace(" ", "-").replace(",", "")
        fit = fit_variant(recipe, manifest, words, cache, folder)
        scorer = scorer or CaptionScorer(
            {record.id: record.captions for record in fit.clips if record.split in HELD_OUT}
        )
        known = KNOWN if "category" in recipe.streams.whole else ["no category"]
        for knowledge in known:
            path = folder / f"said-{knowledge.replace(' ', '-')}.json"
            if not path.exists():
                path.write_text(json.dumps(say_one(fit, knowledge), indent=1))
            label = name if len(known) == 1 else f"{name}, {knowledge}"
            results[label] = scorer.score(json.loads(path.read_text()))
            print(
                label, {m: round(100 * results[label].overall[m], 1) for m in METRICS}, flush=True
            )
    print_table(results)


def print_table(results: dict[str, CaptionScores]) -> None:
    """Scores, and CIDEr beside that of the first row, with 95% intervals."""
    table = Table("model", *METRICS, "CIDEr beyond the first", title="in percent")
    (_, first), *_ = results.items()
    for name, scores in results.items():
        ours, theirs = (
            {video: each["CIDEr"] for video, each in scored.videos.items()}
            for scored in (scores, first)
        )
        difference = bootstrap_difference(theirs, ours)
        cells = [f"{100 * scores.overall[metric]:.1f}" for metric in METRICS]
        low, high = 100 * difference.low, 100 * difference.high
        table.add_row(name, *cells, f"{100 * difference.mean:+.1f} ({low:+.1f} to {high:+.1f})")
    Console().print(table)


if __name__ == "__main__":
    main()
