"""The command line: one verb a file, each a thin call into one function.

A verb's module is imported only when that verb runs, and imports its heavy
parts inside the function, so `--help` answers at once.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from io import TextIOWrapper
from typing import NoReturn, TextIO

import click

from densevidcap import __version__
from densevidcap.cli.printing import echo
from densevidcap.errors import DenseVidCapError, DenseVidCapWarning

VERBS = {
    "caption": "Describe clips: several different sentences, each tied to what it is about.",
    "find": "Search a library of clips: which, when and where.",
    "export": "Write what is known of a library of clips in other formats.",
    "correct": "Put right a sentence of a library, for good.",
    "frames": "Sample a clip's frames: times, contact sheet, sound.",
    "prepare": "Turn a captioned corpus into a manifest.",
    "lexicon": "Build the lexicon of a corpus from its captions.",
    "train": "Train a whole model from your own clips and sentences.",
    "fit": "Train one stage of the model from a manifest.",
    "words": "The words a clip shows, each with its place and time.",
    "regions": "Region-sequences of a clip: what moves through it, with words.",
    "figures": "Draw clips with what people say of them, as the paper does.",
    "streams": "Motion and sound: install what reads them, and look at a clip's.",
    "models": "The models that come with the package, or your own.",
    "serve": "Open the studio: a page to drop clips on and see the answer.",
    "evaluate": "Score sentences against references: BLEU, METEOR, ROUGE-L, CIDEr, density.",
    "experiment": "Run the paper's tables and figures, and write them into the docs.",
}
"""Verb to one-line help: the whole first, then its parts in the order of the pipeline."""


class VerbGroup(click.Group):
    """A click group that finds the verb `x` in the module `densevidcap.cli.x`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"densevidcap.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="densevidcap")
def root() -> None:
    """Describe a clip with several different sentences, each tied to what it is about."""


def main() -> None:
    """Entry point: errors the user can act on become one line and exit code 1."""
    warnings.showwarning = _show_warning
    # What a terminal cannot show is no reason to fail; the other stream has its own way.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        root()
    except DenseVidCapError as error:
        _fail(str(error))
    except OSError as error:
        # A place that may not be read or written, a full disk: wherever it was noticed.
        place = "" if error.filename is None else f"{error.filename}: "
        _fail(f"{place}{error.strerror or error}; check the path and your right to use it")


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Ours as one line; others, with the place in the code, as Python shows them."""
    if issubclass(category, DenseVidCapWarning):
        echo(f"densevidcap: {message}", err=True)
    else:
        _show_with_place(message, category, filename, lineno, file, line)


_show_with_place = warnings.showwarning


def _fail(message: str) -> NoReturn:
    echo(f"densevidcap: {message}", err=True)
    sys.exit(1)
