"""Where the files about each clip go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from densevidcap.cli.clips import name_files, writing_to


class Output(NamedTuple):
    kind: str
    """The format's name."""
    path: Path


def plan_outputs(
    names: Iterable[str], kinds: Sequence[str], out: Path | None
) -> dict[str, list[Output]]:
    """The files of each clip: `out` is a folder for them, or one file of the format of its ending.

    Without a format, a folder gets JSON; without a folder, files go where the user is.
    """
    from densevidcap.export import ENDINGS, find_format

    names = list(names)
    if out is not None and not out.is_dir() and out.suffix:
        if len(names) > 1 or kinds:
            raise click.UsageError(f"--out {out} is a file: give one clip and no --format")
        with writing_to(out.parent):
            out.parent.mkdir(parents=True, exist_ok=True)
        return {names[0]: [Output(find_format(out), out)]}
    if out is not None:
        kinds = kinds or ["json"]
        with writing_to(out):
            out.mkdir(parents=True, exist_ok=True)
    folder = out or Path()
    starts = name_files(names)
    return {
        name: [Output(kind, folder / f"{starts[name]}{ENDINGS[kind]}") for kind in kinds]
        for name in names
    }
