"""Text files, plain or gzipped by suffix: errors name the file, and writing is all or nothing."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, cast

from densevidcap.data.limits import name_variable, read_limits
from densevidcap.errors import CorpusError
from densevidcap.files import replacing
from densevidcap.intake import check_plain, parse_json


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """Read `path` as UTF-8, with or without a byte order mark, unzipped if it ends in .gz."""
    try:
        check_plain(path)
        with (
            _BoundedGzip(path) if path.suffix == ".gz" else path.open("rb") as stored,
            TextIOWrapper(stored, encoding="utf-8-sig", newline="") as stream,
        ):
            yield stream
    except FileNotFoundError as error:
        raise CorpusError(f"{path}: no such file; check the path") from error
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(f"{path}: cannot be read ({error}); is it damaged?") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not UTF-8 text ({error.reason}); convert it first") from error


class _BoundedGzip(gzip.GzipFile):
    """Unzips as much as the limits allow: a small file can hold any number of spaces."""

    def __init__(self, path: Path) -> None:
        self._most = read_limits().max_unzipped_bytes
        super().__init__(path, "rb")

    def read(self, size: int | None = -1) -> bytes:
        return self._check(super().read(self._bound(size)))

    def read1(self, size: int = -1) -> bytes:
        return self._check(super().read1(self._bound(size)))

    def _bound(self, size: int | None) -> int:
        """One byte more than is allowed tells that there is more, without unzipping all of it."""
        left = self._most + 1 - self.tell()
        return left if size is None or size < 0 else min(size, left)

    def _check(self, data: bytes) -> bytes:
        if self.tell() > self._most:
            limit = "max_unzipped_bytes"
            raise CorpusError(
                f"{self.name}: unzips to more than {limit} = {self._most:,}; unzip it yourself if"
                f" it is sound, or set {name_variable(limit)}"
            )
        return data


def read_json(path: Path, **how: Any) -> Any:
    """The content of a JSON file; `how` goes to `parse_json`."""
    with open_text(path) as stream:
        text = stream.read()
    try:
        return parse_json(text, **how)
    except ValueError as error:
        raise CorpusError(f"{path}: {error}; check the file") from None


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with one a line, with their line numbers."""
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = parse_json(line)
            except ValueError as error:
                raise CorpusError(f"{path}:{number}: {error}; see docs/data.md") from None
            if not isinstance(row, dict):
                raise CorpusError(f"{path}:{number}: a line must be a JSON object")
            yield number, row


def read_csv(path: Path, delimiter: str = ",") -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row by its columns' names, with its line number; missing cells are None.

    A quotation mark that opens a cell and is not closed would take the rows below into it, and of a
    sentence with commas only the first part would be left.
    """
    with open_text(path) as stream:
        rows = csv.DictReader(stream, delimiter=delimiter, strict=True)
        begun = 1
        try:
            begun += rows.line_num if rows.fieldnames else 0
            for row in rows:
                # Cells beyond the header's last column come under the name None.
                surplus: Any = row.pop(None, [])
                if any(cell.strip() for cell in surplus):
                    raise csv.Error("it has more cells than the header")
                cells: dict[str, Any] = {**row}
                # Where tabs divide, one inside a cell of many lines is that of a row below.
                if delimiter == "\t" and any(_holds_rows(cell) for cell in cells.values()):
                    raise csv.Error("a cell goes on in the rows below")
                yield rows.line_num, cells
                begun = rows.line_num + 1
        except csv.Error as error:
            reason = str(error).replace("\t", "tab")
            raise CorpusError(
                f"{path}:{begun}: not a sound row ({reason}); put quotation marks round a cell with"
                ' commas, tabs or quotation marks, and double those inside: """Hello"", says a man"'
            ) from error


def _holds_rows(cell: str | None) -> bool:
    return cell is not None and any("\t" in line for line in cell.splitlines()[1:])


@contextmanager
def replace_text(path: Path) -> Iterator[IO[str]]:
    """Write `path`, zipped if it ends in .gz, under a passing name until the block succeeds."""
    opener = gzip.open if path.suffix == ".gz" else open
    with (
        replacing(path) as temporary,
        cast(IO[str], opener(temporary, "wt", encoding="utf-8", newline="\n")) as stream,
    ):
        yield stream
