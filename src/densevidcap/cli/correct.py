"""`densevidcap correct`: a person's word about a sentence of a library."""

from __future__ import annotations

from pathlib import Path

import click

from densevidcap.cli.printing import echo


@click.command("correct")
@click.argument("library", type=click.Path(path_type=Path))
@click.argument("clip")
@click.argument("said")
@click.argument("instead", required=False)
@click.option("--drop", is_flag=True, help="Leave the sentence out, and say nothing instead.")
def command(library: Path, clip: str, said: str, instead: str | None, drop: bool) -> None:
    """Say INSTEAD of what is SAID of a CLIP of LIBRARY.

    CLIP is its path, or its name in the library. A correction stays in force whatever captions
    the clip later, and is in everything that `find` and `export` tell.
    """
    from densevidcap.library.store import Library

    if drop == (instead is not None):
        raise click.UsageError("give the right sentence, or --drop")
    if instead is not None and not instead.strip():
        raise click.UsageError("the right sentence is empty; give --drop to leave one out")
    opened = Library(library)
    with opened.writing_alone():
        opened.correct(clip, said, instead)
    echo(f"{clip}: {instead or 'left out'}")
