"""Where the files of a verb go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from densevidcap.cli.clips import name_files
from densevidcap.errors import OutputError
from densevidcap.outputs import Inputs

OVERWRITE = click.option(
    "--overwrite", is_flag=True, help="Replace files that stand there already."
)
"""Of every verb that writes files."""


class Output(NamedTuple):
    kind: str
    """The format's name."""
    path: Path


def plan_outputs(
    names: Iterable[str], kinds: Sequence[str], out: Path | None, inputs: Inputs
) -> dict[str, list[Output]]:
    """The files of each clip: `out` is a folder for them, or one file of the format of its ending.

    Without a format, a folder gets JSON; without a folder, files go where the user is. A file that
    would have the name of one that is read is called `NAME.captioned`.
    """
    from densevidcap.export import ENDINGS, find_format

    names = list(names)
    if out is not None and not out.is_dir() and out.suffix:
        if len(names) > 1 or kinds:
            raise click.UsageError(f"--out {out} is a file: give one clip and no --format")
        return {names[0]: [Output(find_format(out), out)]}
    if out is not None:
        kinds = kinds or ["json"]
    folder = out or Path()
    starts = name_files(names)

    def place(name: str, kind: str) -> Path:
        usual = folder / f"{starts[name]}{ENDINGS[kind]}"
        return folder / f"{starts[name]}.captioned{ENDINGS[kind]}" if usual in inputs else usual

    return {
        name: [Output(kind, place(name, kind)) for kind in dict.fromkeys(kinds)] for name in names
    }


@contextmanager
def keeping(kept: Callable[[], str]) -> Iterator[None]:
    """Add to a fault of writing what is kept and how to go on."""
    try:
        yield
    except OutputError as error:
        raise OutputError(f"{error}; {kept()}") from error
