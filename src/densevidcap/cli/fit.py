"""`densevidcap fit`: train one stage of the model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from densevidcap.cli.clips import FAIL_FAST, keeping
from densevidcap.cli.printing import echo
from densevidcap.cli.training_view import GOING_ON, RunView, describe_figures, open_progress
from densevidcap.outputs import Inputs, refuse_input

if TYPE_CHECKING:
    from densevidcap.train.evaluator import EvaluatorFit
    from densevidcap.train.sentences import SentencesFit
    from densevidcap.train.view_cache import ViewedCorpus
    from densevidcap.train.words import WordsFit

_PATH = click.Path(path_type=Path)
_DATA = click.option("--data", type=_PATH, required=True, help="The manifest: .jsonl or .jsonl.gz.")
_CONFIG = click.option("--config", type=_PATH, required=True, help="The recipe: a TOML file.")
_WORDS = click.option(
    "--words", "words_model", type=_PATH, help="The Lexical-FCN's folder.  [default: the bundled]"
)
_OUT = click.option("--out", type=_PATH, required=True, help="The model folder.")
_CACHE = click.option(
    "--cache", type=_PATH, help="Folder for the clips' features.  [default: cache in --out]"
)
_HALF = click.option("--half", is_flag=True, help="Save 16-bit weights: half the size.")


@click.group()
def command() -> None:
    """Train one stage of the model from a manifest.

    Stop it at any time: the same command goes on where it was. A clip that cannot be read is
    named and left out; the model is made of the others, and the exit code is 1.
    """


@command.command()
@_DATA
@click.option("--lexicon", type=_PATH, required=True, help="What `densevidcap lexicon` wrote.")
@_CONFIG
@_OUT
@_CACHE
@_HALF
@FAIL_FAST
def words(
    data: Path,
    lexicon: Path,
    config: Path,
    out: Path,
    cache: Path | None,
    half: bool,
    fail_fast: bool,
) -> None:
    """The Lexical-FCN: words linked to regions, from clips and their captions."""
    from densevidcap.models.word_detector import LEXICON
    from densevidcap.train.words import WordsFit, WordsRecipe

    refuse_input(out / LEXICON, Inputs(files=[lexicon]))
    fit = WordsFit(data, lexicon, WordsRecipe.read(config), out)

    def read(view: RunView) -> dict[str, str]:
        count = view.count("reading clips", len(fit.clips))
        return fit.read_clips(cache or out / "cache", count, fail_fast)

    _train(fit, read, data, half)


@command.command()
@_DATA
@_WORDS
@_CONFIG
@_OUT
@_CACHE
@_HALF
@FAIL_FAST
def sentences(
    data: Path,
    words_model: Path | None,
    config: Path,
    out: Path,
    cache: Path | None,
    half: bool,
    fail_fast: bool,
) -> None:
    """The captioner: a sentence for each region-sequence, and the categories of clips."""
    from densevidcap.model_folder import find_model
    from densevidcap.train.sentences import SentencesFit, SentencesRecipe

    fit = SentencesFit(data, find_model(words_model, "words"), SentencesRecipe.read(config), out)
    _train(fit, lambda view: _read_views(fit, cache, view, fail_fast), data, half)


@command.command()
@_DATA
@_WORDS
@_CONFIG
@_OUT
@click.option(
    "--weaker", type=_PATH, help="A captioner's sentences to learn from: {clip: [sentence, …]}."
)
@_CACHE
@_HALF
@FAIL_FAST
def evaluator(
    data: Path,
    words_model: Path | None,
    config: Path,
    out: Path,
    weaker: Path | None,
    cache: Path | None,
    half: bool,
    fail_fast: bool,
) -> None:
    """The evaluator: how well a sentence fits a clip, to rank a clip's sentences."""
    from densevidcap.model_folder import find_model
    from densevidcap.train.evaluator import EvaluatorFit, EvaluatorRecipe

    recipe = EvaluatorRecipe.read(config)
    fit = EvaluatorFit(data, find_model(words_model, "words"), recipe, out, weaker)
    _train(fit, lambda view: _read_views(fit, cache, view, fail_fast), data, half)


def _read_views(
    fit: ViewedCorpus, cache: Path | None, view: RunView, fail_fast: bool
) -> dict[str, str]:
    """Read the clips and their region-sequences; returns those that cannot be read, with why."""
    return fit.read_clips(
        cache or fit.out / "cache",
        view.count("reading clips", len(fit.clips)),
        view.count("finding region-sequences", len(fit.clips)),
        fail_fast,
    )


def _train(
    fit: WordsFit | SentencesFit | EvaluatorFit,
    read: Callable[[RunView], Mapping[str, str]],
    data: Path,
    half: bool,
) -> None:
    """Show how it goes and what came of it; exit with 1 if clips were left out."""
    from densevidcap.train.run import RUN, open_events

    with open_progress() as progress, keeping(lambda: GOING_ON):
        view = RunView(progress, open_events(fit.out / RUN))
        failures = read(view)
        for clip, reason in failures.items():
            view.say(f"left out {clip}: {reason}")
        history = fit.train(view, half)
    echo(f"{fit.out}: {describe_figures(history[-1])}")
    refuse_gaps(data, failures)


def refuse_gaps(data: Path, failures: Mapping[str, str]) -> None:
    """Exit with 1 if clips were left out."""
    from densevidcap.data.manifest import name_some

    if failures:
        echo(
            f"densevidcap: {data}: made without {len(failures):,} clips, as told above: "
            f"{name_some(list(failures))}; put them right or take them out, and train anew",
            err=True,
        )
        sys.exit(1)
