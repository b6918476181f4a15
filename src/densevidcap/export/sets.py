"""Captions of many clips: one table of all, or a small file for each, as other tools read them."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple
from xml.sax.saxutils import escape

from densevidcap.data.failures import naming
from densevidcap.data.names import drop_ending
from densevidcap.data.text import format_clock
from densevidcap.errors import ClipError, MissingExtraError
from densevidcap.export.formats import ENDINGS, SET_FORMATS, ExportError, save
from densevidcap.export.json_file import to_dict
from densevidcap.files import replacing
from densevidcap.outputs import Inputs, check_outputs
from densevidcap.types import Caption, DenseCaptions


class SetRow(NamedTuple):
    """A clip of a set."""

    name: str
    """Its path below the set's folder, with slashes."""
    place: str
    """Where its file is."""
    captions: DenseCaptions


Rows = Callable[[], Iterable[SetRow]]
"""Goes through a set from its start, one clip at a time: there may be more than fit in memory."""


DEFAULT_COLUMNS = "file,rank,text,confidence,start,end,left,top,right,bottom,words"


def name_time(seconds: float) -> str:
    """A time code: hours, minutes, seconds and thousandths."""
    return format_clock(round(1000 * seconds))


def _first_box(caption: Caption, edge: str) -> float:
    return round(float(getattr(caption.boxes[0], edge)), 4)


_Cell = Callable[[SetRow, int, Caption], "str | float | int"]
_COLUMNS: dict[str, _Cell] = {
    "file": lambda row, _, __: row.name,
    "path": lambda row, _, __: row.place,
    "rank": lambda _, rank, __: rank,
    "text": lambda _, __, caption: caption.text,
    "raw": lambda _, __, caption: caption.raw,
    "confidence": lambda _, __, caption: round(caption.confidence, 4),
    "verdict": lambda _, __, caption: caption.verdict,
    "start": lambda _, __, caption: round(caption.start, 3),
    "end": lambda _, __, caption: round(caption.end, 3),
    "start_code": lambda _, __, caption: name_time(caption.start),
    "end_code": lambda _, __, caption: name_time(caption.end),
    "left": lambda _, __, caption: _first_box(caption, "left"),
    "top": lambda _, __, caption: _first_box(caption, "top"),
    "right": lambda _, __, caption: _first_box(caption, "right"),
    "bottom": lambda _, __, caption: _first_box(caption, "bottom"),
    "words": lambda _, __, caption: " ".join(each.word for each in caption.evidence),
    "unsupported": lambda _, __, caption: " ".join(caption.unsupported),
    "duration": lambda row, _, __: round(row.captions.duration, 3),
    "width": lambda row, _, __: row.captions.width,
    "height": lambda row, _, __: row.captions.height,
    "model": lambda row, _, __: row.captions.model,
    "model_version": lambda row, _, __: row.captions.model_version,
}
"""What a column of a table can be, of a clip and its sentence of that rank. A box is where the
sentence's region begins."""


def parse_columns(asked: str | None) -> dict[str, str]:
    """Header to column: "file,text=caption" has the columns "file" and, named "caption", "text"."""
    chosen: dict[str, str] = {}
    for each in (asked or DEFAULT_COLUMNS).split(","):
        column, _, header = each.strip().partition("=")
        if column not in _COLUMNS:
            raise ExportError(f"--columns: no column '{column}'; there are {', '.join(_COLUMNS)}")
        if (header or column) in chosen:
            raise ExportError(f"--columns: '{header or column}' comes twice; name one otherwise")
        chosen[header or column] = column
    return chosen


def write_set(
    rows: Rows,
    kind: str,
    out: Path,
    columns: str | None = None,
    beside: bool = False,
    overwrite: bool = False,
    advance: Callable[[], None] = lambda: None,
    places: Sequence[tuple[str, str]] | None = None,
    missing: list[str] | None = None,
) -> list[Path]:
    """Write a set as one file (`out` is that file, or its folder) or as a file for each clip.

    The latter lie in `out` as the clips do in their folder, or `beside` the clips. Nothing is
    written if any of them may not be. `advance` is called after each clip. `places` are names and
    files of all clips, also of those that `rows` leaves out. Of clips that a format needs and that
    cannot be read, the reason is added to `missing`, and the others are written; without it, it is
    raised.
    """
    wanted = parse_columns(columns)
    if kind not in SET_FORMATS and kind not in ENDINGS:
        raise ExportError(
            f"{kind}: no such format; use one of {' '.join([*SET_FORMATS, *ENDINGS])}"
        )
    if places is None:
        places = [(row.name, row.place) for row in rows()]
    found = SET_FORMATS.get(kind)
    if found is not None and found.per == "set":
        if beside:
            raise ExportError(f"{kind} is one file for all clips: it cannot lie beside them")
        path = out if out.suffix and not out.is_dir() else out / found.ending
        check_outputs([path], Inputs(clips=[place for _, place in places]), overwrite)
        _WRITERS[kind](_following(rows(), advance), path, overwrite, wanted)
        return [path]
    ending = found.ending if found is not None else ENDINGS[kind]
    inputs = Inputs(clips=[place for _, place in places])
    paths = _name_files(places, ending, None if beside else out, inputs)
    check_outputs(paths, inputs, overwrite)
    named = dict(zip(places, paths, strict=True))
    written = []
    for row in _following(rows(), advance):
        path = named[row.name, row.place]
        try:
            with naming(row.place):
                _write_clip(row, path, kind, overwrite)
        except ClipError as error:
            if missing is None:
                raise
            missing.append(str(error))
        else:
            written.append(path)
    return written


def _write_clip(row: SetRow, path: Path, kind: str, overwrite: bool) -> None:
    if kind == "txt":
        _write_text(path, "".join(f"{each.text}\n" for each in row.captions), overwrite)
    elif kind == "xmp":
        _write_text(path, _render_xmp(row.captions), overwrite)
    else:
        save(row.captions, path, kind, overwrite=overwrite)


def _following(rows: Iterable[SetRow], advance: Callable[[], None]) -> Iterator[SetRow]:
    for row in rows:
        yield row
        advance()


def _name_files(
    places: Sequence[tuple[str, str]], ending: str, out: Path | None, inputs: Inputs
) -> list[Path]:
    """NAME.ending for NAME.mp4; where two would be called the same NAME.mp4.ending, and of files of
    one name, which several folders may have, NAME.mp4-2.ending."""
    starts = []
    for name, place in places:
        if out is None:
            starts.append(Path(place))
        else:
            parts = [part for part in PurePosixPath(name).parts if part not in ("..", "/")]
            starts.append(out.joinpath(*parts or ["clip"]))
    short = [start.with_name(drop_ending(start.name) + ending) for start in starts]
    often = Counter(str(path).casefold() for path in short)
    taken = {name for name, times in often.items() if times == 1}
    paths = []
    for start, path in zip(starts, short, strict=True):
        if often[str(path).casefold()] > 1 or path in inputs:
            numbered = (start.with_name(f"{start.name}-{number}{ending}") for number in count(2))
            full = chain([start.with_name(start.name + ending)], numbered)
            path = next(each for each in full if str(each).casefold() not in taken)
            taken.add(str(path).casefold())
        paths.append(path)
    return paths


def _write_text(path: Path, text: str, overwrite: bool) -> None:
    with _replacing_text(path, overwrite) as stream:
        stream.write(text)


@contextmanager
def _replacing_text(path: Path, overwrite: bool) -> Iterator[IO[str]]:
    with (
        replacing(path, overwrite) as temporary,
        # Names of files may hold what UTF-8 has no bytes for.
        temporary.open("w", encoding="utf-8", errors="replace", newline="\n") as stream,
    ):
        yield stream


def _write_jsonl(rows: Iterable[SetRow], path: Path, overwrite: bool, _: dict[str, str]) -> None:
    with _replacing_text(path, overwrite) as stream:
        for row in rows:
            content = {"file": row.name, **to_dict(row.captions)}
            stream.write(json.dumps(content, allow_nan=False) + "\n")


def _write_csv(
    rows: Iterable[SetRow], path: Path, overwrite: bool, columns: dict[str, str]
) -> None:
    with _replacing_text(path, overwrite) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerows(list_cells(row, columns))


def list_cells(row: SetRow, columns: dict[str, str]) -> list[list[str | float | int]]:
    """A line for each sentence of the clip, the best first; `columns` as parsed above."""
    return [
        [_COLUMNS[column](row, rank, caption) for column in columns.values()]
        for rank, caption in enumerate(row.captions, start=1)
    ]


def _write_parquet(
    rows: Iterable[SetRow], path: Path, overwrite: bool, columns: dict[str, str]
) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "tables", "writing Parquet") from error
    with replacing(path, overwrite) as temporary:
        writer = None
        try:
            for row in rows:
                cells = list_cells(row, columns)
                if not cells:
                    continue
                batch = {
                    header: [_make_writable(line[place]) for line in cells]
                    for place, header in enumerate(columns)
                }
                table = pyarrow.table(batch)
                writer = writer or parquet.ParquetWriter(temporary, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            parquet.write_table(pyarrow.table({header: [] for header in columns}), temporary)


def _make_writable(cell: str | float | int) -> str | float | int:
    """As in texts: a name of a file may hold what UTF-8 has no bytes for."""
    return cell.encode(errors="replace").decode() if isinstance(cell, str) else cell


def _write_huggingface(
    rows: Iterable[SetRow], path: Path, overwrite: bool, _: dict[str, str]
) -> None:
    """Paths as from the list's own folder, which is how `VideoFolder` finds the files."""
    folder = path.absolute().parent
    with _replacing_text(path, overwrite) as stream:
        for row in rows:
            texts = [caption.text for caption in row.captions]
            content = {
                "file_name": Path(os.path.relpath(row.place, folder)).as_posix(),
                "caption": texts[0] if texts else "",
                "captions": texts,
                "confidences": [round(caption.confidence, 4) for caption in row.captions],
                "spans": [[caption.start, caption.end] for caption in row.captions],
                "boxes": [[*asdict(caption.boxes[0]).values()] for caption in row.captions],
            }
            stream.write(json.dumps(content, allow_nan=False) + "\n")


def _write_predictions(
    rows: Iterable[SetRow], path: Path, overwrite: bool, _: dict[str, str]
) -> None:
    said: dict[str, Any] = {}
    for row in rows:
        name = drop_ending(row.name)
        if Path(row.place).as_posix().endswith(f"/{row.name}"):
            # The path of a file, and no id: people go by its last part.
            name = name.rpartition("/")[2]
        key = next((key for key in (name, row.name) if key not in said), row.place)
        said[key] = [caption.text for caption in row.captions]
    _write_text(path, json.dumps(said, indent=1) + "\n", overwrite)


_WRITERS: dict[str, Callable[[Iterable[SetRow], Path, bool, dict[str, str]], None]] = {
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "parquet": _write_parquet,
    "huggingface": _write_huggingface,
    "predictions": _write_predictions,
}

_XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">
   <dc:description><rdf:Alt><rdf:li xml:lang="x-default">{text}</rdf:li></rdf:Alt></dc:description>
   <dc:subject><rdf:Bag>{words}</rdf:Bag></dc:subject>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
"""


def _render_xmp(captions: DenseCaptions) -> str:
    """All sentences as the description, the words that are seen as keywords."""
    from densevidcap.data.text import one_line

    words = dict.fromkeys(each.word for caption in captions for each in caption.evidence)
    items = "".join(f"<rdf:li>{escape(one_line(word))}</rdf:li>" for word in words)
    text = " ".join(one_line(caption.text) for caption in captions)
    return _XMP.format(text=escape(text), words=items)
