"""What verbs share that go through clips: progress, clips that fail, and names of files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

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


def visit_clips(sources: Sequence[str], doing: str, visit: Callable[[str, Progress], T]) -> list[T]:
    """What `visit` makes of each clip; one that cannot be read is named, and the others go on."""
    made = []
    with show_progress() as progress:
        for source in progress.track(sources, description=doing):
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", DenseVidCapWarning)
                    made.append(visit(source, progress))
            except ClipError as error:
                echo(f"densevidcap: {error}", err=True)
                continue
            for message in {str(warning.message) for warning in caught}:
                echo(f"densevidcap: {message}", err=True)
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
