"""`densevidcap correct`: a person's word about a sentence of a library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from densevidcap.cli.clips import OVERWRITE
from densevidcap.cli.printing import echo

if TYPE_CHECKING:
    from densevidcap.library.store import Library


@click.command("correct")
@click.argument("library", type=click.Path(path_type=Path))
@click.argument("clip", required=False)
@click.argument("said", required=False)
@click.argument("instead", required=False)
@click.option("--drop", is_flag=True, help="Leave the sentence out, and say nothing instead.")
@click.option(
    "--manifest",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what people said, as `densevidcap train` takes it, and print that command.",
)
@OVERWRITE
def command(
    library: Path,
    clip: str | None,
    said: str | None,
    instead: str | None,
    drop: bool,
    manifest: Path | None,
    overwrite: bool,
) -> None:
    """Say INSTEAD of what is SAID of a CLIP of LIBRARY.

    CLIP is its path, or its name in the library. INSTEAD may be the same sentence, which says that
    it is right. A correction stays in force whatever captions
    the clip later, and is in everything that `find` and `export` tell.
    """
    from densevidcap.library.store import Library

    if manifest is not None:
        if clip is not None or drop:
            raise click.UsageError("--manifest is of the whole library: name no clip")
        _write_manifest(Library(library), manifest, overwrite)
        return
    if clip is None or said is None:
        raise click.UsageError("name a clip and what is said of it, or give --manifest")
    if drop == (instead is not None):
        raise click.UsageError("give the right sentence, or --drop")
    if instead is not None and not instead.strip():
        raise click.UsageError("the right sentence is empty; give --drop to leave one out")
    opened = Library(library)
    with opened.writing_alone():
        opened.correct(clip, said, instead)
    echo(f"{clip}: {instead or 'left out'}")


def _write_manifest(library: Library, path: Path, overwrite: bool) -> None:
    from densevidcap.library.corrected import write_lessons
    from densevidcap.outputs import Inputs, check_outputs

    places = [place for _, place in library.list_files()]
    check_outputs([path], Inputs(clips=places), overwrite)
    lessons = write_lessons(library, path)
    echo(f"{path}: {lessons.sentences} sentences of {lessons.clips} clips", err=True)
    echo(lessons.command)
