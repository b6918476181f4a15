"""One studio at a time in a data folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from densevidcap.errors import DenseVidCapError


class StudioError(DenseVidCapError):
    """A studio that cannot be opened as asked."""


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Keep others out; the lock ends with the process, however that ends."""
    folder.mkdir(parents=True, exist_ok=True)
    # A transaction of SQLite is a lock that every system knows.
    database = sqlite3.connect(folder / "lock.sqlite", timeout=1, isolation_level=None)
    try:
        database.execute("BEGIN EXCLUSIVE")
        yield
    except sqlite3.OperationalError:
        raise StudioError(f"{folder}: another studio works here; name another --data") from None
    finally:
        database.close()
