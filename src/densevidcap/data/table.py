"""A user's own table: CSV, TSV or JSON lines with one caption a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from densevidcap.data.manifest import ClipRecord, name_some
from densevidcap.data.text_files import read_csv, read_json_lines
from densevidcap.errors import CorpusError

COLUMNS = {
    "source": ("video", "path", "file", "filename", "source", "video_path"),
    "caption": ("caption", "captions", "sentence", "text", "description"),
    "id": ("id", "video_id", "clip_id"),
    "category": ("category", "class"),
    "split": ("split", "subset"),
}
"""The names we know a column by, in any case; the first two columns are needed."""


def read_table(
    path: Path, folder: Path | None = None, skip_missing: bool = False, by_id: bool = False
) -> Iterator[ClipRecord]:
    """The clips of a table, in the order of their first rows.

    Paths in the table are relative to `folder`, or else to the table's own.
    Without an id column the file's name is the id; without a split, all train.
    With `by_id`, files are found elsewhere by ids, and the records have no sources.
    """
    clips: dict[str, ClipRecord] = {}
    for number, row in _read_rows(path):
        try:
            here = _parse(row, folder or path.parent, by_id)
            clip = _merge(clips[here.id], here) if here.id in clips else here
        except ValueError as error:
            raise CorpusError(f"{path}:{number}: {error}") from error
        clips[clip.id] = clip
    if not clips:
        raise CorpusError(f"{path}: no clips in it; a table has a row for each of their captions")
    if by_id:
        yield from clips.values()
        return

    missing = [str(clip.source) for clip in clips.values() if not _is_there(str(clip.source))]
    if missing and not skip_missing:
        raise CorpusError(
            f"{path}: {len(missing):,} files do not exist: {name_some(missing)}; give their folder "
            "with --videos, or leave these clips out with --skip-missing"
        )
    absent = set(missing)
    yield from (clip for clip in clips.values() if clip.source not in absent)


def _is_there(source: str) -> bool:
    """A shard's member counts as there if its shard is."""
    return Path(source).exists() or Path(source.rpartition("::")[0]).is_file()


def _parse(row: Mapping[str, Any], folder: Path, by_id: bool) -> ClipRecord:
    known = _cell(row, "id", default="")
    source = folder / _cell(row, "source", default="" if by_id and known else None)
    return ClipRecord(
        id=known or Path(source.name.rpartition("::")[2]).stem,
        source=None if by_id else str(source),
        captions=_captions(row),
        category=_cell(row, "category", default="") or None,
        split=_cell(row, "split", default="train"),
    )


def _merge(above: ClipRecord, here: ClipRecord) -> ClipRecord:
    """One clip of its earlier rows and this one."""
    if above.source != here.source:
        raise ValueError(
            f"clip '{here.id}' is {above.source} above and {here.source} here; add an 'id' column"
        )
    if (above.category, above.split) != (here.category, here.split):
        raise ValueError(f"clip '{here.id}' has another split or category above; make them agree")
    return replace(above, captions=above.captions + here.captions)


def _captions(row: Mapping[str, Any]) -> tuple[str, ...]:
    value = _find(row, "caption")
    captions = value if isinstance(value, list) else [value]
    if not all(isinstance(caption, str) and caption.strip() for caption in captions):
        raise ValueError("the caption is empty or not text")
    return tuple(caption.strip() for caption in captions)


def _cell(row: Mapping[str, Any], column: str, default: str | None = None) -> str:
    value = _find(row, column)
    text = "" if value is None else str(value).strip()
    if text:
        return text
    if default is None:
        raise ValueError(
            f"no {column}: a column named {' or '.join(COLUMNS[column])} is needed, "
            f"here are {', '.join(row) or 'none'}"
        )
    return default


def _find(row: Mapping[str, Any], column: str) -> Any:
    return next((row[name] for name in COLUMNS[column] if name in row), None)


def _read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row with its line number, its columns' names in lower case."""
    suffixes = set(path.suffixes)
    if ".jsonl" in suffixes:
        rows = read_json_lines(path)
    elif suffixes & {".csv", ".tsv"}:
        rows = read_csv(path, delimiter="\t" if ".tsv" in suffixes else ",")
    else:
        raise CorpusError(f"{path}: a table must end in .csv, .tsv or .jsonl (or that and .gz)")
    for number, row in rows:
        yield number, {name.strip().lower(): cell for name, cell in row.items()}
