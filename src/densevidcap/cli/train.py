"""`densevidcap train`: every stage of a model, from one's own clips and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from densevidcap.cli.clips import FAIL_FAST, keeping
from densevidcap.cli.fit import refuse_gaps
from densevidcap.cli.printing import echo
from densevidcap.cli.training_view import GOING_ON, StagesView, describe_figures, open_progress
from densevidcap.outputs import Inputs, refuse_input

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("table", metavar="TABLE", type=_PATH)
@click.option("--out", type=_PATH, required=True, help="The model folder.")
@click.option(
    "--from",
    "start",
    default="bundled",
    show_default=True,
    help="The model to start from: bundled, none (ImageNet weights) or a model folder.",
)
@click.option(
    "--recipe",
    metavar="NAME|FOLDER",
    help="small, large or full, or a folder like theirs.  [default: by the number of clips]",
)
@click.option("--videos", type=_PATH, help="Where the table's paths start; else its own folder.")
@click.option(
    "--skip-missing", is_flag=True, help="Leave out clips without a file instead of failing."
)
@FAIL_FAST
def command(
    table: Path,
    out: Path,
    start: str,
    recipe: str | None,
    videos: Path | None,
    skip_missing: bool,
    fail_fast: bool,
) -> None:
    """Train a whole model from TABLE: a manifest, or a .csv, .tsv or .jsonl of clips and captions.

    Lexicon, words, sentences, evaluator, and the figures on clips that are held out. Stop it at any
    time: the same command goes on where it was.
    """
    from densevidcap.model_folder import BUNDLED
    from densevidcap.train.model import MANIFEST, ModelTraining, read_corpus
    from densevidcap.train.recipe import ModelRecipe, find_recipe
    from densevidcap.train.run import RUN

    refuse_input(out / RUN / MANIFEST, Inputs(files=[table]))
    corpus = read_corpus(table, videos, skip_missing)
    folder = find_recipe(recipe, len(corpus.trained))
    initial = {"bundled": BUNDLED, "none": None}.get(start, Path(start))
    with keeping(lambda: GOING_ON):
        training = ModelTraining(corpus, ModelRecipe.read(folder), out, initial)
    echo(
        f"{table}: {len(corpus.trained):,} clips to learn from, {len(corpus.held_out):,} held out"
        f"{', chosen by their ids' if corpus.chosen else ''}; recipe '{folder.name}'"
    )
    with open_progress() as progress, keeping(lambda: GOING_ON):
        card = training.train(StagesView(progress), fail_fast)
    _show_costs(training.costs)
    echo(f"{out}: of {card['held_out_clips']} held-out clips, " + _show(card["figures"]))
    refuse_gaps(table, training.left_out)


def _show(figures: Mapping[str, float]) -> str:
    return describe_figures(figures) or "no figures"


def _show_costs(costs: Mapping[str, Mapping[str, float]]) -> None:
    from rich.table import Column, Table

    from densevidcap.cli.console import Console

    figures = (Column(name, justify="right") for name in ("minutes", "peak memory, MB"))
    shown = Table("stage", *figures)
    for stage, cost in costs.items():
        shown.add_row(stage, f"{cost['seconds'] / 60:.1f}", f"{cost['peak_bytes'] / 1e6:,.0f}")
    Console().print(shown)
