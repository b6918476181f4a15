"""Text files, plain or gzipped by suffix: errors name the file, and writing is all or nothing."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from densevidcap.errors import CorpusError
from densevidcap.files import replacing


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """Read `path` as UTF-8, with or without a byte order mark, unzipped if it ends in .gz."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with cast(IO[str], opener(path, "rt", encoding="utf-8-sig", newline="")) as stream:
            yield stream
    except FileNotFoundError as error:
        raise CorpusError(f"{path}: no such file; check the path") from error
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(f"{path}: cannot be read ({error}); is it damaged?") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not UTF-8 text ({error.reason}); convert it first") from error


def read_json(path: Path) -> Any:
    with open_text(path) as stream:
        try:
            return json.load(stream)
        except json.JSONDecodeError as error:
            raise CorpusError(f"{path}:{error.lineno}: not JSON ({error.msg})") from error
        except RecursionError:
            raise CorpusError(f"{path}: not JSON that we know (nested too deep)") from None


def read_csv(path: Path, delimiter: str = ",") -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row by its columns' names, with its line number; missing cells are None."""
    with open_text(path) as stream:
        rows = csv.DictReader(stream, delimiter=delimiter)
        try:
            for row in rows:
                # Cells beyond the header's last column come under the name None.
                yield rows.line_num, {name: cell for name, cell in row.items() if name is not None}
        except csv.Error as error:
            raise CorpusError(f"{path}:{rows.line_num}: not a sound CSV file ({error})") from error


@contextmanager
def replace_text(path: Path) -> Iterator[IO[str]]:
    """Write `path`, zipped if it ends in .gz, under a passing name until the block succeeds."""
    opener = gzip.open if path.suffix == ".gz" else open
    with (
        replacing(path) as temporary,
        cast(IO[str], opener(temporary, "wt", encoding="utf-8", newline="\n")) as stream,
    ):
        yield stream
