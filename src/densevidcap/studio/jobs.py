"""The queue and what became of each clip, in one SQLite file that server and worker share."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

State = Literal["waiting", "working", "done", "failed", "expired"]

MOST_TRIES = 2
"""A clip in whose hands the worker died that often is given up."""

_TABLE = """
CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    created REAL NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    stage TEXT NOT NULL DEFAULT '',
    share REAL NOT NULL DEFAULT 0,
    message TEXT NOT NULL DEFAULT '',
    tries INTEGER NOT NULL DEFAULT 0,
    started REAL
)
"""
_COLUMNS = """id, name, created, state, stage, share, message, (
    SELECT count(*) FROM jobs AS other
    WHERE jobs.state = 'waiting' AND other.state IN ('waiting', 'working')
    AND other.number < jobs.number
) AS ahead"""


@dataclass(frozen=True)
class Job:
    """A clip and how far it has come."""

    id: str
    name: str
    """What its sender called it."""
    created: float
    """Seconds since 1970."""
    state: State
    stage: str
    """What is being done, or was done last."""
    share: float
    """Of all work on it, 0 to 1."""
    message: str
    """Why it failed."""
    ahead: int
    """Clips that come before it."""

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed", "expired")


class Jobs:
    """Each call is one transaction on a connection of its own, from any thread or process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._connect() as database:
            # Readers and a writer do not wait for each other.
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(_TABLE)

    def add(self, key: str, name: str, most_waiting: int, most: int) -> bool:
        """Queue a clip, unless that many wait or are kept already."""
        return self._change(
            "INSERT INTO jobs (id, name, created) SELECT ?, ?, ? WHERE"
            " (SELECT count(*) FROM jobs WHERE state = 'waiting') < ?"
            " AND (SELECT count(*) FROM jobs WHERE state != 'expired') < ?",
            *(key, name, time.time(), most_waiting, most),
        )

    def count(self) -> tuple[int, int]:
        """How many clips wait, and how many are kept in all."""
        kept = self.list_all()
        return sum(job.state == "waiting" for job in kept), len(kept)

    def find(self, key: str) -> Job | None:
        return next(self._select("WHERE id = ?", key), None)

    def list_all(self) -> list[Job]:
        """The newest first."""
        return [*self._select("WHERE state != 'expired' ORDER BY number DESC")]

    def remove(self, key: str) -> bool:
        """Forget a clip; False if it is not known."""
        return self._change("DELETE FROM jobs WHERE id = ?", key)

    def expire(self, most: float) -> list[str]:
        """Those that ended and are older than that many seconds: only their ids stay known."""
        with self._connect() as database:
            rows = database.execute(
                "UPDATE jobs SET state = 'expired', name = '', message = ''"
                " WHERE state IN ('done', 'failed') AND created < ? RETURNING id",
                (time.time() - most,),
            ).fetchall()
        return [row["id"] for row in rows]

    def take(self) -> Job | None:
        """The clip that waits longest, now in work."""
        with self._connect() as database:
            row = database.execute(
                "UPDATE jobs SET state = 'working', tries = tries + 1, started = ? WHERE number ="
                " (SELECT min(number) FROM jobs WHERE state = 'waiting') RETURNING id",
                (time.time(),),
            ).fetchone()
        return None if row is None else self.find(row["id"])

    def report(self, key: str, stage: str, share: float) -> bool:
        """Note progress; False if the clip was removed meanwhile."""
        return self._change("UPDATE jobs SET stage = ?, share = ? WHERE id = ?", stage, share, key)

    def finish(self, key: str) -> bool:
        return self._change("UPDATE jobs SET state = 'done', share = 1 WHERE id = ?", key)

    def fail(self, key: str, message: str) -> bool:
        return self._change(
            "UPDATE jobs SET state = 'failed', message = ? WHERE id = ?", message, key
        )

    def give_back(self, died: bool) -> None:
        """Let clips in work wait again; if the worker died over one too often, it has failed."""
        if died:
            self._change(
                "UPDATE jobs SET state = 'failed', message = ?"
                " WHERE state = 'working' AND tries >= ?",
                "reading this clip ended the worker each time; convert it, for example with ffmpeg",
                MOST_TRIES,
            )
        self._change(
            "UPDATE jobs SET state = 'waiting', stage = '', share = 0, tries = tries - ?"
            " WHERE state = 'working'",
            # That the server was stopped is not the clip's fault.
            0 if died else 1,
        )

    def is_overdue(self, most: float) -> bool:
        """Whether a clip is in work for more than that many seconds."""
        query = "SELECT 1 FROM jobs WHERE state = 'working' AND started < ?"
        with self._connect() as database:
            return database.execute(query, (time.time() - most,)).fetchone() is not None

    def _select(self, condition: str, *values: Any) -> Iterator[Job]:
        with self._connect() as database:
            rows = database.execute(f"SELECT {_COLUMNS} FROM jobs {condition}", values).fetchall()
        return (Job(**row) for row in rows)

    def _change(self, statement: str, *values: Any) -> bool:
        """Whether the statement changed anything."""
        with self._connect() as database:
            return database.execute(statement, values).rowcount > 0

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        database.row_factory = sqlite3.Row
        try:
            yield database
        finally:
            database.close()
