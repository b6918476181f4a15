"""Where a corpus keeps its pictures, and how its clips come by them."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from densevidcap.data.manifest import ClipRecord
from densevidcap.errors import CorpusError

VIDEO_SUFFIXES = frozenset({".mp4", ".avi", ".mkv", ".webm", ".mov", ".m4v", ".mpg", ".mpeg"})
IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp"})

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
    """Clip id to `<shard>.tar::<id>`, for a folder of tar shards with `<id>.NN.webp` frames."""
    sources = {}
    for shard in find_shards(folder):
        with open_shard(shard) as tar:
            sources.update(shard_sources(shard, tar))
    return sources


def find_shards(folder: Path) -> list[Path]:
    shards = [path for path in _entries(folder) if path.suffix == ".tar"]
    if not shards:
        raise CorpusError(f"{folder}: no .tar shards here; check the path")
    return shards


@contextmanager
def open_shard(shard: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(shard) as tar:
            yield tar
    except (OSError, tarfile.TarError) as error:
        raise CorpusError(f"{shard}: not a readable tar file ({error}); copy it again") from error


def shard_sources(shard: Path, tar: tarfile.TarFile) -> dict[str, str]:
    """Clip id to source, for the clips that have frames in this shard."""
    frames = (name for name in tar.getnames() if Path(name).suffix.lower() in IMAGE_SUFFIXES)
    ids = (name.partition(".")[0] for name in frames)
    return {clip_id: f"{shard}::{clip_id}" for clip_id in ids}


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
