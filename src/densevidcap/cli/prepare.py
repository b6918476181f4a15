"""`densevidcap prepare`: a captioned corpus as a manifest."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from densevidcap.cli.clips import OVERWRITE, show_progress
from densevidcap.cli.printing import echo
from densevidcap.outputs import Inputs, check_outputs, refuse_input

if TYPE_CHECKING:
    from densevidcap.data.manifest import ClipRecord

_PATH = click.Path(path_type=Path)
_OUT = click.option("--out", type=_PATH, required=True, help="The manifest: .jsonl or .jsonl.gz.")
_VIDEOS = click.option("--videos", type=_PATH, help="Folder of videos named by clip id.")
_FRAMES = click.option("--frames", type=_PATH, help="Folder of frame folders named by clip id.")
_FEATURES = click.option(
    "--features",
    type=_PATH,
    help="In place of pictures: folder of .npy files, or an HDF5 file, named by clip id.",
)
_SKIP_MISSING = click.option(
    "--skip-missing", is_flag=True, help="Leave out clips without a file instead of failing."
)


@click.group()
def command() -> None:
    """Turn a captioned corpus into a manifest."""


@command.command()
@click.option("--annotations", type=_PATH, help="train_val_videodatainfo.json or the like, or .gz.")
@click.option("--shards", type=_PATH, help="Folder of tar shards; annotations are in them.")
@_VIDEOS
@_FRAMES
@_FEATURES
@click.option("--categories", type=_PATH, help="category.txt, if yours is not the official one.")
@_SKIP_MISSING
@_OUT
@OVERWRITE
def msrvtt(
    annotations: Path | None,
    shards: Path | None,
    videos: Path | None,
    frames: Path | None,
    features: Path | None,
    categories: Path | None,
    skip_missing: bool,
    out: Path,
    overwrite: bool,
) -> None:
    """MSR-VTT, from its official JSON, tar shards, or both.

    Without --shards, --videos, --frames or --features the manifest holds captions only.
    """
    from densevidcap.data.msrvtt import CATEGORIES, read_annotations, read_categories, read_shards

    check_outputs([out], Inputs(files=[annotations, categories, features]), overwrite)
    names = read_categories(categories) if categories else CATEGORIES
    if annotations is None:
        if shards is None:
            raise click.UsageError("Give --annotations, --shards or both.")
        if features is not None:
            raise click.UsageError("Give --annotations with --features.")
        _write(out, read_shards(shards, names))
        return
    records = read_annotations(annotations, names)
    places = Places(videos, frames, shards, features)
    _write(out, _with_sources(records, places, skip_missing))


@command.command()
@click.option(
    "--annotations",
    type=_PATH,
    required=True,
    help="AllVideoDescriptions.txt or the corpus's CSV, or .gz.",
)
@_VIDEOS
@_FRAMES
@_FEATURES
@_SKIP_MISSING
@_OUT
@OVERWRITE
def msvd(
    annotations: Path,
    videos: Path | None,
    frames: Path | None,
    features: Path | None,
    skip_missing: bool,
    out: Path,
    overwrite: bool,
) -> None:
    """MSVD, with the usual 1200/100/670 split.

    Without --videos, --frames or --features the manifest holds captions only.
    """
    from densevidcap.data.msvd import read_descriptions

    check_outputs([out], Inputs(files=[annotations, features]), overwrite)
    records = read_descriptions(annotations)
    _write(out, _with_sources(records, Places(videos, frames, None, features), skip_missing))


@command.command()
@click.argument("table", metavar="TABLE", type=_PATH)
@click.option("--videos", type=_PATH, help="Where the table's paths start; else its own folder.")
@_FEATURES
@_SKIP_MISSING
@_OUT
@OVERWRITE
def table(
    table: Path,
    videos: Path | None,
    features: Path | None,
    skip_missing: bool,
    out: Path,
    overwrite: bool,
) -> None:
    """Your own TABLE: .csv, .tsv or .jsonl, one caption a row.

    It needs a column of files (video, path, file, ...) and one of sentences
    (caption, sentence, text, ...); id, category and split are optional. With
    --features, ids find the files, and what the table says of them does not count.
    """
    from densevidcap.data.table import read_table

    check_outputs([out], Inputs(files=[table, features]), overwrite)
    if features is None:
        _write(out, read_table(table, videos, skip_missing))
    elif videos is not None:
        raise click.UsageError("Give only one of --videos and --features.")
    else:
        places = Places(features=features)
        _write(out, _with_sources(read_table(table, by_id=True), places, skip_missing))


class Places(NamedTuple):
    """Where a corpus may keep what there is of its clips: one of these."""

    videos: Path | None = None
    frames: Path | None = None
    shards: Path | None = None
    features: Path | None = None


def _with_sources(
    records: Iterator[ClipRecord], places: Places, skip_missing: bool
) -> Iterator[ClipRecord]:
    from densevidcap.data.feature_files import find_features
    from densevidcap.data.manifest import (
        attach_sources,
        find_frame_folders,
        find_shard_members,
        find_videos,
    )

    finders = (find_videos, find_frame_folders, find_shard_members, find_features)
    pairs = zip(places, finders, strict=True)
    given = [(place, find) for place, find in pairs if place is not None]
    if not given:
        return records
    if len(given) > 1:
        options = ", ".join(f"--{name}" for name in Places._fields)
        raise click.UsageError(f"Give only one of {options}.")
    ((place, find),) = given
    return attach_sources(records, find(place), place, skip_missing)


def _write(out: Path, records: Iterable[ClipRecord]) -> None:
    """Write the manifest, unless one of its clips stands there, and tell what is in it."""
    from rich.table import Column, Table
    from rich.text import Text

    from densevidcap.cli.console import Console
    from densevidcap.data.feature_files import Census, take_census
    from densevidcap.data.manifest import write_manifest

    census = Census()
    clips: Counter[str] = Counter()
    captions: Counter[str] = Counter()
    categories: defaultdict[str, set[str]] = defaultdict(set)

    def count(records: Iterable[ClipRecord]) -> Iterator[ClipRecord]:
        for record in take_census(records, census):
            clips[record.split] += 1
            captions[record.split] += len(record.captions)
            if record.category is not None:
                categories[record.split].add(record.category)
            if record.source is not None:
                refuse_input(out, Inputs([record.source]))
            yield record
        census.refuse_others()

    started = time.perf_counter()
    with show_progress() as progress:
        watched = progress.track(count(records), description="Reading clips")
        total = write_manifest(out, watched)
    seconds = time.perf_counter() - started

    figures = (Column(name, justify="right") for name in ("clips", "captions", "categories"))
    summary = Table("split", *figures)
    for split in clips:
        summary.add_row(
            Text(split), f"{clips[split]:,}", f"{captions[split]:,}", str(len(categories[split]))
        )
    Console().print(summary)
    if census.usual is not None:
        echo(f"features in place of pictures: {census.describe()}")
    echo(f"{total:,} clips in {out}, {seconds:.1f} s")
