"""`densevidcap fit`: train one stage of the model."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.progress import Progress

    from densevidcap.language.fitting import SentencesFit
    from densevidcap.rerank.fitting import EvaluatorFit
    from densevidcap.training import Progress as Watcher

_PATH = click.Path(path_type=Path)


@click.group()
def command() -> None:
    """Train one stage of the model from a manifest."""


@command.command()
@click.option("--data", type=_PATH, required=True, help="The manifest: .jsonl or .jsonl.gz.")
@click.option("--lexicon", type=_PATH, required=True, help="What `densevidcap lexicon` wrote.")
@click.option("--config", type=_PATH, required=True, help="The recipe: experiments/words.toml.")
@click.option("--out", type=_PATH, required=True, help="The model folder.")
@click.option(
    "--cache", type=_PATH, help="Folder for the clips' features.  [default: cache in --out]"
)
@click.option("--half", is_flag=True, help="Save 16-bit weights: half the size, the same words.")
def words(
    data: Path, lexicon: Path, config: Path, out: Path, cache: Path | None, half: bool
) -> None:
    """The Lexical-FCN: words linked to regions, from clips and their captions.

    Stop it at any time: the same command goes on where it was. A clip that cannot be read is
    named and left out; the model is made of the others, and the exit code is 1.
    """
    from densevidcap.curves import open_events
    from densevidcap.fits import RUN
    from densevidcap.lexical.fitting import WordsFit, WordsRecipe

    fit = WordsFit(data, lexicon, WordsRecipe.read(config), out)
    with _open_progress() as progress:
        reading = progress.add_task("Reading clips", total=len(fit.clips), note="")
        failures = fit.read_clips(cache or out / "cache", lambda: progress.advance(reading))
        _print_failures(progress, failures)
        history = fit.train(_Watch(progress, open_events(out / RUN)), half)
    _conclude(out, history, data, failures)


@command.command()
@click.option("--data", type=_PATH, required=True, help="The manifest: .jsonl or .jsonl.gz.")
@click.option(
    "--words", "words_model", type=_PATH, help="The Lexical-FCN's folder.  [default: the bundled]"
)
@click.option("--config", type=_PATH, required=True, help="The recipe: experiments/sentences.toml.")
@click.option("--out", type=_PATH, required=True, help="The model folder.")
@click.option(
    "--cache", type=_PATH, help="Folder for the clips' features.  [default: cache in --out]"
)
@click.option("--half", is_flag=True, help="Save 16-bit weights: half the size.")
def sentences(
    data: Path, words_model: Path | None, config: Path, out: Path, cache: Path | None, half: bool
) -> None:
    """The captioner: a sentence for each region-sequence, and the categories of clips.

    Stop it at any time: the same command goes on where it was. A clip that cannot be read is
    named and left out; the model is made of the others, and the exit code is 1.
    """
    from densevidcap.artefacts import find_model
    from densevidcap.curves import open_events
    from densevidcap.fits import RUN
    from densevidcap.language.fitting import SentencesFit, SentencesRecipe

    fit = SentencesFit(data, find_model(words_model, "words"), SentencesRecipe.read(config), out)
    with _open_progress() as progress:
        failures = _view_clips(fit, cache or out / "cache", progress)
        history = fit.train(_Watch(progress, open_events(out / RUN)), half)
    _conclude(out, history, data, failures)


@command.command()
@click.option("--data", type=_PATH, required=True, help="The manifest: .jsonl or .jsonl.gz.")
@click.option(
    "--words", "words_model", type=_PATH, help="The Lexical-FCN's folder.  [default: the bundled]"
)
@click.option("--config", type=_PATH, required=True, help="The recipe: experiments/evaluator.toml.")
@click.option("--out", type=_PATH, required=True, help="The model folder.")
@click.option(
    "--weaker", type=_PATH, help="A captioner's sentences to learn from: {clip: [sentence, …]}."
)
@click.option(
    "--cache", type=_PATH, help="Folder for the clips' features.  [default: cache in --out]"
)
@click.option("--half", is_flag=True, help="Save 16-bit weights: half the size.")
def evaluator(
    data: Path,
    words_model: Path | None,
    config: Path,
    out: Path,
    weaker: Path | None,
    cache: Path | None,
    half: bool,
) -> None:
    """The evaluator: how well a sentence fits a clip, to rank a clip's sentences.

    Stop it at any time: the same command goes on where it was. A clip that cannot be read is
    named and left out; the model is made of the others, and the exit code is 1.
    """
    from densevidcap.artefacts import find_model
    from densevidcap.curves import open_events
    from densevidcap.fits import RUN
    from densevidcap.rerank.fitting import EvaluatorFit, EvaluatorRecipe

    recipe = EvaluatorRecipe.read(config)
    fit = EvaluatorFit(data, find_model(words_model, "words"), recipe, out, weaker)
    with _open_progress() as progress:
        failures = _view_clips(fit, cache or out / "cache", progress)
        history = fit.train(_Watch(progress, open_events(out / RUN)), half)
    _conclude(out, history, data, failures)


def _view_clips(
    fit: SentencesFit | EvaluatorFit, cache: Path, progress: Progress
) -> dict[str, str]:
    """Read the clips and their region-sequences; returns those that cannot be read, with why."""
    reading = progress.add_task("Reading clips", total=len(fit.clips), note="")
    viewing = progress.add_task("Region-sequences", total=len(fit.clips), note="")
    failures = fit.read_clips(
        cache, lambda: progress.advance(reading), lambda: progress.advance(viewing)
    )
    _print_failures(progress, failures)
    return failures


def _print_failures(progress: Progress, failures: Mapping[str, str]) -> None:
    for clip, reason in failures.items():
        _print_line(progress, f"left out {clip}: {reason}")


def _conclude(
    out: Path, history: Sequence[dict[str, Any]], data: Path, failures: Mapping[str, str]
) -> None:
    """Print the last figures; exit with 1 if clips were left out."""
    from densevidcap.data.sources import name_some

    figures = ", ".join(f"{name} {value:.4g}" for name, value in history[-1].items())
    click.echo(f"{out}: {figures}")
    if failures:
        click.echo(
            f"densevidcap: {data}: made without {len(failures):,} clips, as told above: "
            f"{name_some(list(failures))}; put them right or take them out, and train anew",
            err=True,
        )
        sys.exit(1)


def _open_progress() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        disable=not console.is_terminal,
    )


def _print_line(progress: Progress, line: str) -> None:
    """Above the bars, as it is: names of files may look like Rich's markup."""
    progress.console.print(line, soft_wrap=True, highlight=False, markup=False)


class _Watch:
    """Shows a run's steps as a bar and its epochs as lines; passes all on to `other`."""

    def __init__(self, progress: Progress, other: Watcher) -> None:
        self._progress, self._other = progress, other
        self._bar = progress.add_task("Training", total=None, note="")

    def step(self, done: int, total: int, loss: float) -> None:
        self._progress.update(self._bar, completed=done, total=total, note=f"loss {loss:.3f}")
        self._other.step(done, total, loss)

    def epoch(self, epoch: int, figures: dict[str, float]) -> None:
        line = ", ".join(f"{name} {value:.4g}" for name, value in figures.items())
        _print_line(self._progress, f"epoch {epoch}: {line}")
        self._other.epoch(epoch, figures)
