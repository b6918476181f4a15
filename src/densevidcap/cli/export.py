"""`densevidcap export`: files of all clips of a library, without captioning again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from densevidcap.cli.caption_set import EXPORTS, export_set, tell_missing
from densevidcap.cli.clips import OVERWRITE, show_progress
from densevidcap.export.formats import FORMATS, SET_FORMATS


@click.command("export")
@click.argument("library", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "kinds",
    multiple=True,
    required=True,
    type=click.Choice([*SET_FORMATS, *(kind for kind in FORMATS if kind not in SET_FORMATS)]),
    help="Repeat for more.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the files, or the one file.  [default: the library's own folder for them]",
)
@click.option("--beside", is_flag=True, help="Put each clip's file beside the clip.")
@click.option(
    "--columns",
    help="Of csv and parquet, as in file,start_code,text=caption: which, and called what.",
)
@OVERWRITE
def command(
    library: Path,
    kinds: tuple[str, ...],
    out: Path | None,
    beside: bool,
    columns: str | None,
    overwrite: bool,
) -> None:
    """Write what is known of the clips of LIBRARY in other formats.

    \b
    jsonl        JSON Lines: everything, one clip a line
    csv          a table, one sentence a row
    parquet      the same table
    huggingface  metadata.jsonl, as VideoFolder reads it
    predictions  sentences by clip, for `densevidcap evaluate`
    txt, xmp     a small file for each clip
    json, vtt, srt, mp4, html, coco, cvat, fiftyone
                 for each clip what `densevidcap caption` writes

    Corrections are in all of them. What lies in the library's own folder for such files is
    replaced; elsewhere only with --overwrite. Clips that are gone where a format needs them, or
    whose result is damaged, are named and left out, and the exit code is 1.
    """
    from densevidcap.library.store import Library

    if beside and out is not None:
        raise click.UsageError("--beside and --out are two places: choose one")
    if out is not None and len(kinds) > 1 and out.suffix and not out.is_dir():
        raise click.UsageError(f"--out {out} is a file: give one --format")
    opened = Library(library)
    is_own = out is None and not beside
    missing: list[str] = []
    with show_progress() as progress:
        for kind in kinds:
            task = progress.add_task(f"Writing {kind}", total=len(opened))
            missing += export_set(
                opened,
                kind,
                out or library / EXPORTS,
                columns,
                beside,
                overwrite or is_own,
                lambda task=task: progress.advance(task),  # type: ignore[misc]
            )
    tell_missing(missing)
    if missing:
        sys.exit(1)
