"""`densevidcap train`: every stage of a model, from one's own clips and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from densevidcap.cli.clips import FAIL_FAST, keeping
from densevidcap.cli.fit import refuse_gaps
from densevidcap.cli.printing import echo
from densevidcap.cli.training_view import GOING_ON, open_terminal
from densevidcap.outputs import Inputs, refuse_input
from densevidcap.progress import describe_metrics

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("table", metavar="TABLE", type=_PATH)
@click.option("--out", type=_PATH, required=True, help="The model folder.")
@click.option(
    "--from",
    "start",
    help="The model to start from: bundled, none (ImageNet weights) or a model folder."
    "  [default: bundled; none for features]",
)
@click.option(
    "--config",
    metavar="NAME|FILE",
    help="small, large, features, full or paper, or a TOML file like theirs."
    "  [default: by number of clips, and by what they are]",
)
@click.option("--recipe", hidden=True)
@click.option(
    "--pictures",
    type=_PATH,
    help="A table like TABLE of captioned pictures (or clips) that only words are learned from.",
)
@click.option("--videos", type=_PATH, help="Where the table's paths start; else its own folder.")
@click.option(
    "--skip-missing", is_flag=True, help="Leave out clips without a file instead of failing."
)
@FAIL_FAST
def command(
    table: Path,
    out: Path,
    start: str | None,
    config: str | None,
    recipe: str | None,
    pictures: Path | None,
    videos: Path | None,
    skip_missing: bool,
    fail_fast: bool,
) -> None:
    """Train a whole model from TABLE: a manifest, or a .csv, .tsv or .jsonl of clips and captions.

    Lexicon, words, sentences, evaluator, and the figures on clips that are held out. Stop it at any
    time: the same command goes on where it was.
    """
    from densevidcap.config import FEATURES, ModelConfig
    from densevidcap.data.table import read_table
    from densevidcap.model_folder import BUNDLED
    from densevidcap.train.model import MANIFEST, ModelTraining, choose_config, read_corpus
    from densevidcap.train.stage import RUN
    from densevidcap.train.team import refuse_team

    refuse_team("train", "fit words and fit sentences")

    if recipe is not None:
        raise click.UsageError(
            "--recipe is now --config: a name, or one TOML file for all stages in place of a folder"
        )
    refuse_input(out / RUN / MANIFEST, Inputs(files=[table]))
    corpus = read_corpus(table, videos, skip_missing)
    more = [] if pictures is None else [*read_table(pictures, None, skip_missing)]
    config = config or choose_config(corpus.trained)
    settings = ModelConfig.read(config)
    start = start or ("none" if settings.eyes.backbone == FEATURES else "bundled")
    initial = {"bundled": BUNDLED, "none": None}.get(start, Path(start))
    with keeping(lambda: GOING_ON):
        training = ModelTraining(corpus, settings, out, initial, fail_fast, more)
    echo(
        f"{table}: {len(corpus.trained):,} clips to learn from, {len(corpus.held_out):,} held out"
        f"{', chosen by their ids' if corpus.chosen else ''}; config '{Path(config).stem}'"
    )
    with open_terminal() as terminal, keeping(lambda: GOING_ON):
        card = training.train(terminal)
    _show_costs(training.costs)
    metrics = describe_metrics(card["figures"]) or "no figures"
    echo(f"{out}: of {card['held_out_clips']} held-out clips, {metrics}")
    refuse_gaps(table, training.left_out)


def _show_costs(costs: Mapping[str, Mapping[str, float]]) -> None:
    from rich.table import Column, Table

    from densevidcap.cli.console import Console

    columns = (Column(name, justify="right") for name in ("minutes", "peak memory, MB"))
    shown = Table("stage", *columns)
    for stage, cost in costs.items():
        shown.add_row(stage, f"{cost['seconds'] / 60:.1f}", f"{cost['peak_bytes'] / 1e6:,.0f}")
    Console().print(shown)
