"""The queue and what became of each clip, in one SQLite file that server and worker share."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from densevidcap.studio.lock import StudioError

State = Literal["waiting", "working", "done", "failed", "expired"]

MOST_TRIES = 2
"""A clip in whose hands the worker died that often is given up."""

_TABLES = """
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
    started REAL,
    born REAL NOT NULL DEFAULT 0,
    place REAL,
    sentence TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS clock (seconds REAL NOT NULL);
INSERT INTO clock SELECT 0 WHERE NOT EXISTS (SELECT * FROM clock);
CREATE TABLE IF NOT EXISTS passing (id TEXT PRIMARY KEY);
"""
"""`clock` counts the seconds that servers ran, and `born` tells what it showed when a clip came: a
machine's own clock may jump. `place` orders those that wait; without one, `number` does.
`passing` has the ids of folders that are to go."""
_FIRST_COLUMNS = {"number", "id", "name", "created", "state", "stage", "share", "tries", "started"}
"""Of version 0.1."""
_LATER_COLUMNS = {
    "born": "REAL NOT NULL DEFAULT 0",
    "place": "REAL",
    "sentence": "TEXT NOT NULL DEFAULT ''",
}
_COLUMNS = "id, name, created, state, stage, share, message, sentence"
_TURN = "coalesce(place, number)"
"""What those that wait are ordered by."""


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
    sentence: str
    """The first one that was said of it."""
    ahead: int
    """Clips that come before it."""

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed", "expired")


@dataclass(frozen=True)
class Posted(Job):
    """The answer to whoever posts a clip."""

    known: bool = False
    """Whether it was here already, so that nothing has to be done."""


def holds_jobs(path: Path) -> bool:
    """Whether a file is a queue of ours, of whichever version."""
    if not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as database:
            database.row_factory = sqlite3.Row
            return _list_columns(database) >= _FIRST_COLUMNS
    except sqlite3.Error:
        return False


def _list_columns(database: sqlite3.Connection) -> set[str]:
    return {row["name"] for row in database.execute("PRAGMA table_info(jobs)")}


class Jobs:
    """Each call is one transaction on a connection of its own, from any thread or process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._connect() as database:
                # Readers and a writer do not wait for each other.
                database.execute("PRAGMA journal_mode = WAL")
                database.executescript(_TABLES)
                known = _list_columns(database)
                for column, kind in _LATER_COLUMNS.items():
                    if column not in known:
                        database.execute(f"ALTER TABLE jobs ADD COLUMN {column} {kind}")
        except sqlite3.DatabaseError as error:
            raise StudioError(f"{path}: cannot be used ({error}); name another --data") from None

    def add(self, key: str, name: str, most_waiting: int, most: int) -> bool:
        """Queue a clip that came, unless that many wait or are kept already."""
        with self._change_together() as database:
            added = database.execute(
                "INSERT OR IGNORE INTO jobs (id, name, created, born)"
                " SELECT ?, ?, ?, (SELECT seconds FROM clock) WHERE"
                " (SELECT count(*) FROM jobs WHERE state = 'waiting') < ?"
                " AND (SELECT count(*) FROM jobs WHERE state != 'expired') < ?",
                (key, name, time.time(), most_waiting, most),
            ).rowcount
            if added:
                database.execute("DELETE FROM passing WHERE id = ?", (key,))
        return added > 0

    def let_pass(self, key: str) -> None:
        """Know the id of a folder that shall not stay, before it is made."""
        self._change("INSERT OR IGNORE INTO passing VALUES (?)", key)

    def list_passing(self) -> list[str]:
        with self._connect() as database:
            return [row["id"] for row in database.execute("SELECT id FROM passing")]

    def forget(self, key: str) -> None:
        """A folder that was to go is gone."""
        self._change("DELETE FROM passing WHERE id = ?", key)

    def count(self) -> tuple[int, int]:
        """How many clips wait, and how many are kept in all."""
        query = "SELECT count(*), sum(state = 'waiting') FROM jobs WHERE state != 'expired'"
        with self._connect() as database:
            kept, waiting = database.execute(query).fetchone()
        return waiting or 0, kept

    def find(self, key: str) -> Job | None:
        query = (
            f"SELECT {_COLUMNS}, (SELECT count(*) FROM jobs AS other WHERE jobs.state = 'waiting'"
            " AND (other.state = 'working' OR other.state = 'waiting'"
            " AND coalesce(other.place, other.number) < coalesce(jobs.place, jobs.number))"
            ") AS ahead FROM jobs WHERE id = ?"
        )
        with self._connect() as database:
            row = database.execute(query, (key,)).fetchone()
        return None if row is None else Job(**row)

    def list_all(self) -> list[Job]:
        """The newest first."""
        query = f"SELECT {_COLUMNS}, {_TURN} AS turn, number FROM jobs WHERE state != 'expired'"
        with self._connect() as database:
            rows = [dict(row) for row in database.execute(query)]
        ahead = sum(row["state"] == "working" for row in rows)
        for row in sorted(rows, key=lambda each: float(each.pop("turn"))):
            row["ahead"] = ahead if row["state"] == "waiting" else 0
            ahead += row["state"] == "waiting"
        rows.sort(key=lambda each: -int(each.pop("number")))
        return [Job(**row) for row in rows]

    def move(self, key: str, before: str) -> bool:
        """Let one that waits come right before another; False if not both of them wait."""
        with self._change_together() as database:
            query = f"SELECT id FROM jobs WHERE state = 'waiting' ORDER BY {_TURN}"
            waiting = [row["id"] for row in database.execute(query)]
            if key == before or not {key, before} <= {*waiting}:
                return False
            waiting.remove(key)
            waiting.insert(waiting.index(before), key)
            # Those that come later have numbers, which are positive.
            places = [(place - len(waiting), each) for place, each in enumerate(waiting)]
            database.executemany("UPDATE jobs SET place = ? WHERE id = ?", places)
        return True

    def retry(self, key: str) -> bool:
        """Let one that failed wait again, behind all others; False if it did not fail."""
        return self._change(
            "UPDATE jobs SET state = 'waiting', stage = '', share = 0, message = '', tries = 0,"
            f" place = (SELECT max({_TURN}) + 1 FROM jobs) WHERE id = ? AND state = 'failed'",
            key,
        )

    def drop_done(self, key: str | None = None) -> None:
        """Forget that clips were captioned, or that this one was; what was made of them stays."""
        self._change("DELETE FROM jobs WHERE state = 'done' AND id = coalesce(?, id)", key)

    def remove(self, key: str, passing: bool = True) -> State | None:
        """Let a clip pass, or only its job; the state that it was in, if it is known."""
        with self._change_together() as database:
            row = database.execute("DELETE FROM jobs WHERE id = ? RETURNING state", (key,))
            state: State | None = next((each["state"] for each in row.fetchall()), None)
            if state is not None and passing:
                database.execute("INSERT OR IGNORE INTO passing VALUES (?)", (key,))
        return state

    def advance(self, seconds: float) -> None:
        """The server ran for that long since this was told last."""
        self._change("UPDATE clock SET seconds = seconds + ?", seconds)

    def expire(self, most: float) -> list[str]:
        """Those that ended, after that many seconds of a running server: they pass, and only their
        ids stay known."""
        with self._change_together() as database:
            rows = database.execute(
                "UPDATE jobs SET state = 'expired', name = '', message = '', sentence = ''"
                " WHERE state IN ('done', 'failed') AND born < (SELECT seconds FROM clock) - ?"
                " RETURNING id",
                (most,),
            ).fetchall()
            keys = [row["id"] for row in rows]
            database.executemany("INSERT OR IGNORE INTO passing VALUES (?)", zip(keys))
        return keys

    def take(self) -> Job | None:
        """The clip that waits longest, now in work."""
        with self._connect() as database:
            row = database.execute(
                "UPDATE jobs SET state = 'working', tries = tries + 1, started = ? WHERE number ="
                f" (SELECT number FROM jobs WHERE state = 'waiting' ORDER BY {_TURN} LIMIT 1)"
                " RETURNING id",
                (time.monotonic(),),
            ).fetchone()
        return None if row is None else self.find(row["id"])

    def report(self, key: str, stage: str, share: float) -> bool:
        """Note progress; False if the clip was removed meanwhile."""
        return self._change("UPDATE jobs SET stage = ?, share = ? WHERE id = ?", stage, share, key)

    def finish(self, key: str, sentence: str = "") -> bool:
        return self._change(
            "UPDATE jobs SET state = 'done', share = 1, sentence = ? WHERE id = ?", sentence, key
        )

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
            return database.execute(query, (time.monotonic() - most,)).fetchone() is not None

    def _change(self, statement: str, *values: Any) -> bool:
        """Whether the statement changed anything."""
        with self._connect() as database:
            return database.execute(statement, values).rowcount > 0

    @contextmanager
    def _change_together(self) -> Iterator[sqlite3.Connection]:
        """All statements of the block, or none."""
        with self._connect() as database:
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        database.row_factory = sqlite3.Row
        try:
            yield database
        finally:
            database.close()
