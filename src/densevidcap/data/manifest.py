"""Where a corpus keeps its pictures, and how its clips come by them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeGuard

from densevidcap.data.pictures import SUFFIXES as IMAGE_SUFFIXES
from densevidcap.data.shards import VIDEO_SUFFIXES, Shard, open_shard
from densevidcap.data.text_files import read_json_lines, replace_text
from densevidcap.errors import CorpusError


@dataclass(frozen=True)
class ClipRecord:
    """One clip of a corpus and what people said of it."""

    id: str
    source: str | None
    """A video, a folder of frames, or a shard's member such as `train-000.tar::video12`.

    None if only the captions are there."""
    captions: tuple[str, ...]
    category: str | None
    split: str

    def __post_init__(self) -> None:
        for name in ("id", "split"):
            if not _is_word(getattr(self, name)):
                raise ValueError(f"'{name}' must be a non-empty string")
        for name in ("source", "category"):
            if getattr(self, name) is not None and not _is_word(getattr(self, name)):
                raise ValueError(f"'{name}' must be a non-empty string or null")
        if not all(_is_word(caption) for caption in self.captions):
            raise ValueError("'captions' must be a list of non-empty strings")


def read_manifest(path: Path | str) -> Iterator[ClipRecord]:
    """Stream the clips of a manifest; relative sources are resolved against its folder."""
    path = Path(path)
    line_of: dict[str, int] = {}
    for number, row in read_json_lines(path):
        try:
            record = _parse(row, path.parent)
        except ValueError as error:
            raise CorpusError(f"{path}:{number}: {error}; see docs/data.md") from error
        if record.id in line_of:
            raise CorpusError(
                f"{path}:{number}: clip '{record.id}' stands already in line "
                f"{line_of[record.id]}; keep one line with the captions of both"
            )
        line_of[record.id] = number
        yield record


def write_manifest(path: Path | str, records: Iterable[ClipRecord]) -> int:
    """Write all records or, if one of them fails or there is none, nothing; return how many.

    Sources below the manifest's folder are written relative to it, so that a
    corpus can be moved as one folder; all others become absolute.
    """
    path = Path(path)
    folder = path.absolute().parent
    seen: set[str] = set()
    with replace_text(path) as stream:
        for record in records:
            if record.id in seen:
                raise CorpusError(f"{path}: clip '{record.id}' comes twice; clips need unique ids")
            seen.add(record.id)
            row = asdict(record) | {"source": _portable(record.source, folder)}
            try:
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            except UnicodeEncodeError:
                # Only names of files can hold what UTF-8 has no bytes for.
                name = os.fsencode(record.source or record.id).decode("utf-8", "backslashreplace")
                raise CorpusError(f"{name}: its name is not UTF-8; rename it") from None
        if not seen:
            raise CorpusError(f"{path}: no clips in it, so it is not written; check the corpus")
    return len(seen)


_FIELDS = tuple(field.name for field in fields(ClipRecord))


def _parse(row: dict[str, Any], folder: Path) -> ClipRecord:
    if unknown := row.keys() - set(_FIELDS):
        raise ValueError(f"unknown field '{min(unknown)}'; the fields are {', '.join(_FIELDS)}")
    for name in ("id", "captions", "split"):
        if name not in row:
            raise ValueError(f"'{name}' is missing")
    if not isinstance(row["captions"], list):
        raise ValueError("'captions' must be a list of non-empty strings")
    source = row.get("source")
    if _is_word(source):
        source = str(folder / source)
    return ClipRecord(row["id"], source, tuple(row["captions"]), row.get("category"), row["split"])


def _is_word(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def _portable(source: str | None, folder: Path) -> str | None:
    if source is None:
        return None
    absolute = Path(source).absolute()
    inside = absolute.is_relative_to(folder) and absolute != folder
    return str(absolute.relative_to(folder) if inside else absolute)


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
