"""How segments and regions look, as the index has it: files of rows, and whose each row is."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from densevidcap.library.shown import Int8Array
from densevidcap.library.store import VECTORS
from densevidcap.library.vectors import VectorFile
from densevidcap.types import FloatArray

SEGMENTS, REGIONS = "segments", "regions"
"""Kinds of rows: how a whole segment looks, and how each region at its moments does."""
SLACK = 4096
"""Rows of clips that are gone, beside as many as there are, until their file is written anew."""

SCHEMA = """
CREATE TABLE spaces (
    id INTEGER PRIMARY KEY, kind TEXT, digest TEXT, width INTEGER, file TEXT, count INTEGER,
    UNIQUE (kind, digest, width)
);
CREATE TABLE vectors (space INTEGER, segment INTEGER, first INTEGER, count INTEGER);
CREATE INDEX vectors_of_segment ON vectors (segment);
"""

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """How the segments, or the regions, look that the same eyes saw."""

    vectors: Int8Array
    """(N, D) directions, mapped; some may be of clips that are gone."""
    segments: Ids
    """(S,): their numbers,"""
    firsts: Ids
    """(S,): ascending, where the rows of each begin,"""
    counts: Ids
    """(S,): and how many it has."""

    def list_live(self) -> Ids:
        """The rows that are of a segment."""
        before = np.cumsum(self.counts) - self.counts
        shifts = np.repeat(self.firsts - before, self.counts)
        return np.asarray(np.arange(len(shifts)) + shifts, np.int64)

    def find_best(self, scores: FloatArray) -> FloatArray:
        """(S,): the largest of the rows' scores (N,) of each segment."""
        edges = np.stack([self.firsts, self.firsts + self.counts], axis=1).ravel()
        return np.asarray(np.maximum.reduceat(np.append(scores, -np.inf), edges)[::2])


class Looks:
    """Rows of one kind that the same eyes saw share a file."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self._db = connection
        self._folder = folder

    @property
    def are_whole(self) -> bool:
        """Whether all rows are there that should be."""
        files = self._db.execute("SELECT file, width, count FROM spaces")
        return all(VectorFile(self._folder / name, *size).is_whole for name, *size in files)

    def add(
        self, kind: str, digest: str, width: int, rows: Sequence[tuple[int, Int8Array]]
    ) -> None:
        """How segments look, or their regions: rows of each, in a transaction of the caller."""
        space, file = self._open_rows(kind, digest, width)
        if file is None:
            name = f"{VECTORS}-{secrets.token_hex(4)}.int8"
            space = self._db.execute(
                "INSERT INTO spaces VALUES (NULL, ?, ?, ?, ?, 0)", (kind, digest, width, name)
            ).lastrowid
            file = VectorFile(self._folder / name, width, 0)
        first = file.append(np.concatenate([own for _, own in rows]))
        for segment, own in rows:
            row = (space, segment, first, len(own))
            self._db.execute("INSERT INTO vectors VALUES (?, ?, ?, ?)", row)
            first += len(own)
        self._db.execute("UPDATE spaces SET count = ? WHERE id = ?", (file.count, space))

    def _open_rows(
        self, kind: str, digest: str, width: int
    ) -> tuple[int | None, VectorFile | None]:
        """A space and its file; None if there are no such rows."""
        row = self._db.execute(
            "SELECT id, file, count FROM spaces WHERE kind = ? AND digest = ? AND width = ?",
            (kind, digest, width),
        ).fetchone()
        if row is None:
            return None, None
        space, name, count = row
        return space, VectorFile(self._folder / name, width, count)

    def tidy(self) -> None:
        """Write files anew that are mostly of clips that are gone; remove those that nobody has."""
        spaces = self._db.execute("SELECT id, kind, digest, width, count FROM spaces").fetchall()
        for space, kind, digest, width, count in spaces:
            query = "SELECT coalesce(sum(count), 0) FROM vectors WHERE space = ?"
            (live,) = self._db.execute(query, (space,)).fetchone()
            if count > 2 * live + SLACK:
                _, file = self._open_rows(kind, digest, width)
                assert file is not None
                known = file.read()
                query = "SELECT segment, first, count FROM vectors WHERE space = ? ORDER BY first"
                places = self._db.execute(query, (space,)).fetchall()
                kept = [(segment, known[first : first + n]) for segment, first, n in places]
                self._db.execute("DELETE FROM vectors WHERE space = ?", (space,))
                self._db.execute("DELETE FROM spaces WHERE id = ?", (space,))
                if kept:
                    self.add(kind, digest, width, kept)
        named = {name for (name,) in self._db.execute("SELECT file FROM spaces")}
        for path in self._folder.glob(f"{VECTORS}-*.int8"):
            if path.name not in named:
                # Where it is still mapped, as Windows minds, the next time does it.
                with suppress(OSError):
                    path.unlink()

    def remove(self, segment: int) -> None:
        self._db.execute("DELETE FROM vectors WHERE segment = ?", (segment,))

    def read(self, kind: str, digest: str, width: int) -> Rows | None:
        """How segments or regions look to the eyes of that lexicon; None if it saw none."""
        space, file = self._open_rows(kind, digest, width)
        if file is None:
            return None
        query = "SELECT segment, first, count FROM vectors WHERE space = ? ORDER BY first"
        found = self._db.execute(query, (space,)).fetchall()
        segments, firsts, counts = np.array(found, np.int64).reshape(-1, 3).T
        return Rows(file.read(), segments, firsts, counts)
