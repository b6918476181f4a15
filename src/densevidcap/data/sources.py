"""Where a corpus keeps its pictures, and how its clips come by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from densevidcap.data.images import SUFFIXES as IMAGE_SUFFIXES
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.shards import VIDEO_SUFFIXES, Shard, open_shard
from densevidcap.errors import CorpusError

_NAMED = 10
"""How many missing clips a message names before it only counts them."""


def find_videos(folder: Path) -> dict[str, str]:
    """Clip id to video file, for a folder with one `<id>.<suffix>` a clip."""
    return {
        path.stem: str(path)
        for path in _entries(folder)
        if path.suffix.lower() in VIDEO_SUFFIXES and path.is_file()
    }


def find_frame_folders(folder: Path) -> dict[str, str]:
    """Clip id to folder, for a folder with one folder of images a clip."""
    return {
        path.name: str(path)
        for path in _entries(folder)
        if path.is_dir() and any(file.suffix.lower() in IMAGE_SUFFIXES for file in path.iterdir())
    }


def find_shard_members(folder: Path) -> dict[str, str]:
    """Clip id to `<shard>.tar::<id>`, for a folder of tar shards."""
    return {key: f"{shard.path}::{key}" for shard in open_shards(folder) for key in shard.members}


def open_shards(folder: Path) -> Iterator[Shard]:
    """The tar shards of a folder, by name."""
    shards = [path for path in _entries(folder) if path.suffix == ".tar"]
    if not shards:
        raise CorpusError(f"{folder}: no .tar shards here; check the path")
    yield from map(open_shard, shards)


def attach_sources(
    records: Iterable[ClipRecord], sources: Mapping[str, str], place: Path, skip_missing: bool
) -> Iterator[ClipRecord]:
    """Give each clip its source; those that `place` lacks are skipped, or named all at once."""
    missing = []
    for record in records:
        if record.id in sources:
            yield replace(record, source=sources[record.id])
        else:
            missing.append(record.id)
    if missing and not skip_missing:
        raise CorpusError(
            f"{place}: nothing here for {name_some(missing)}; "
            "add them, or leave these clips out with --skip-missing"
        )


def name_some(names: list[str]) -> str:
    """The first of many names, and how many more there are."""
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")


def _entries(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise CorpusError(f"{folder}: no such folder; check the path")
    return sorted(folder.iterdir())
