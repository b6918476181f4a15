"""What verbs share that go through clips: progress, clips that fail, and names of files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from densevidcap.cli.printing import echo
from densevidcap.errors import ClipError, DenseVidCapWarning

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")


def show_progress() -> Progress:
    """On a terminal, and gone when it ends."""
    from rich.progress import Progress, TextColumn

    from densevidcap.cli.console import Console

    console = Console(stderr=True)
    _, *others = Progress.get_default_columns()
    # Names of files may look like Rich's markup.
    names = TextColumn("{task.description}", "progress.description", markup=False)
    return Progress(
        names, *others, console=console, transient=True, disable=not console.is_terminal
    )


FAIL_FAST = click.option(
    "--fail-fast", is_flag=True, help="Stop at the first clip that fails, instead of going on."
)


def visit_clips(
    sources: Sequence[str] | Mapping[str, str],
    doing: str,
    visit: Callable[[str, Progress], T],
    fail_fast: bool = False,
) -> list[T]:
    """What `visit` makes of each clip; one that fails is named at once, and again at the end.

    The others go on, unless `fail_fast`. Of a mapping, names are visited and sources are told.
    """
    from densevidcap.data.failures import naming
    from densevidcap.data.sources import name_some

    told = sources if isinstance(sources, Mapping) else {}
    made, failed = [], []
    with show_progress() as progress:
        for source in progress.track(list(sources), description=doing):
            try:
                with (
                    naming(told.get(source, source)),
                    warnings.catch_warnings(record=True) as caught,
                ):
                    warnings.simplefilter("always", DenseVidCapWarning)
                    made.append(visit(source, progress))
            except ClipError as error:
                if fail_fast:
                    raise
                echo(f"densevidcap: {error}", err=True)
                failed.append(source)
                continue
            for message in {str(warning.message) for warning in caught}:
                echo(f"densevidcap: {message}", err=True)
    if failed and len(sources) > 1:
        count = f"{len(failed):,} of {len(sources):,} clips failed, as told above"
        echo(f"densevidcap: {count}: {name_some(failed)}", err=True)
    return made


def name_files(sources: Iterable[str]) -> dict[str, str]:
    """How the names of files about each clip begin: like its own, numbered where equal.

    Names that differ only in the case of letters are equal to some file systems.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for source in dict.fromkeys(sources):
        stem = Path(source.rpartition("::")[2]).absolute().stem
        numbered = (f"{stem}-{number}" for number in count(2))
        names[source] = next(n for n in chain([stem], numbered) if n.casefold() not in taken)
        taken.add(names[source].casefold())
    return names
