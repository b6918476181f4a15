"""The data folder: whose it is, and what may be removed from it and when."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.studio.running import RunningStudio, run_idle_studio

from densevidcap.cli import root
from densevidcap.studio.files import MARKER, DataFolder
from densevidcap.studio.jobs import Jobs
from densevidcap.studio.limits import StudioLimits
from densevidcap.studio.lock import StudioError

FIRST_TABLE = """
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
    created REAL NOT NULL, state TEXT NOT NULL DEFAULT 'waiting', stage TEXT NOT NULL DEFAULT '',
    share REAL NOT NULL DEFAULT 0, message TEXT NOT NULL DEFAULT '',
    tries INTEGER NOT NULL DEFAULT 0, started REAL
)
"""
"""Of version 0.1."""
PLENTY = (1000, 1000)


def put(folder: Path, *names: str) -> dict[str, bytes]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}: mine")
    return read(folder)


def read(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    "names",
    [("clips/wedding.mp4", "exports/film.mp4"), ("jobs.sqlite",), ("lock.sqlite",), ("notes",)],
)
def test_a_strangers_folder_is_refused_and_left_as_it_is(
    model: Path, tmp_path: Path, names: tuple[str, ...]
) -> None:
    before = put(tmp_path, *names)
    run = CliRunner().invoke(root, ["serve", "--model", str(model), "--data", str(tmp_path)])
    assert isinstance(run.exception, StudioError)
    assert str(tmp_path) in str(run.exception)
    assert "--data" in str(run.exception)
    assert read(tmp_path) == before


def test_a_strangers_queue_is_none_of_ours(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "jobs.sqlite")
    database.execute("CREATE TABLE jobs (id, salary)")
    database.commit()
    database.close()
    before = read(tmp_path)
    with pytest.raises(StudioError):
        DataFolder(tmp_path).claim()
    assert read(tmp_path) == before


def test_an_empty_folder_is_marked_and_known_again(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "new" / "data")
    data.claim()
    put(data.folder, "clips/mine.mp4")
    data.claim()
    assert (data.folder / MARKER).exists()


def test_a_folder_of_the_first_version_is_taken_over(
    studio: RunningStudio, done: str, tmp_path: Path
) -> None:
    mine = put(tmp_path, "clips/mine.mp4", "clips/folder/mine.mp4", "exports/mine.json")
    shutil.copytree(studio.data / "clips" / done, tmp_path / "clips" / done)
    database = sqlite3.connect(tmp_path / "jobs.sqlite")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute(FIRST_TABLE)
    # By the clock it is more than fifty years old.
    database.execute(
        "INSERT INTO jobs (id, name, created, state) VALUES (?, 'square.mp4', 0, 'done')", (done,)
    )
    database.commit()
    database.close()
    with run_idle_studio(tmp_path, StudioLimits()) as client:
        assert client.get(f"/api/clips/{done}/result").raise_for_status().json()["words"]
        assert client.get(f"/api/clips/{done}/export/vtt").raise_for_status().content
    assert read(tmp_path).items() >= mine.items()
    assert [path.name for path in (tmp_path / "exports").iterdir()] == ["mine.json"]


def test_a_clock_that_jumps_removes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = Jobs(tmp_path / "jobs.sqlite")
    jobs.add("old", "old.mp4", *PLENTY)
    jobs.take()
    for moment in (0.0, 1e11):
        monkeypatch.setattr("time.time", lambda moment=moment: moment)
        assert not jobs.is_overdue(3600)
    jobs.finish("old")
    assert jobs.expire(3600) == []
    jobs.advance(3000)
    jobs.add("new", "new.mp4", *PLENTY)
    jobs.take()
    jobs.finish("new")
    # Of another server, after a pause of whatever length.
    jobs = Jobs(tmp_path / "jobs.sqlite")
    jobs.advance(601)
    assert jobs.expire(3600) == ["old"]
    assert jobs.list_passing() == ["old"]


@pytest.mark.parametrize("key", ["", ".", "..", "../mine", "/", "a/b", "a\n"])
def test_what_is_no_id_is_never_removed(tmp_path: Path, key: str) -> None:
    before = put(tmp_path / "data", "clips/mine.mp4", "mine.txt")
    with pytest.raises(ValueError, match="no id"):
        DataFolder(tmp_path / "data").remove(key)
    assert read(tmp_path / "data") == before


def test_a_damaged_queue_is_named(model: Path, tmp_path: Path) -> None:
    DataFolder(tmp_path).claim()
    (tmp_path / "jobs.sqlite").write_bytes(b"no database" * 1000)
    run = CliRunner().invoke(root, ["serve", "--model", str(model), "--data", str(tmp_path)])
    assert isinstance(run.exception, StudioError)
    assert "jobs.sqlite" in str(run.exception)
