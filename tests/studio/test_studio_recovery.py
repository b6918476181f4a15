"""What dies does not take the others along: a worker, a process that exports, the server."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner
from tests.studio.running import RunningStudio, await_that, run_studio

from densevidcap.cli import root
from densevidcap.errors import ClipError
from densevidcap.studio.lock import StudioError, hold
from densevidcap.studio.shelter import Shelter


def is_working(studio: RunningStudio, key: str) -> bool:
    return bool(studio.client.get(f"/api/clips/{key}").json()["state"] == "working")


def kill_worker(studio: RunningStudio) -> None:
    """The child with the networks is the largest one."""
    children = psutil.Process(studio.process.pid).children()
    max(children, key=lambda child: child.memory_info().rss).kill()


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_clips_survive_the_worker_and_the_server(model: Path, clip: Path, tmp_path: Path) -> None:
    with run_studio(tmp_path, model) as studio:
        keys = [studio.post(clip).raise_for_status().json()["id"] for _ in range(3)]
        await_that(lambda: is_working(studio, keys[0]))
        kill_worker(studio)
        assert studio.await_end(keys[0])["state"] == "done"
        await_that(lambda: is_working(studio, keys[1]))
        children = psutil.Process(studio.process.pid).children()
        studio.process.kill()
        studio.process.wait()
        # None goes on in secret.
        await_that(lambda: not any(map(is_alive, children)))
    (tmp_path / "clips" / "broken-off").mkdir()
    with run_studio(tmp_path, model) as studio:
        assert [studio.await_end(key)["state"] for key in keys] == ["done"] * 3
        assert {path.name for path in (tmp_path / "clips").iterdir()} == set(keys)


def test_a_second_studio_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with hold(tmp_path), pytest.raises(StudioError, match="another --data"), hold(tmp_path):
        pass
    with hold(tmp_path):
        pass


def test_a_model_that_is_none_is_named_before_anything_starts(tmp_path: Path) -> None:
    run = CliRunner().invoke(root, ["serve", "--model", str(tmp_path), "--data", str(tmp_path)])
    assert str(tmp_path / "words") in str(run.exception)


def test_a_shelter_outlives_what_dies_in_it() -> None:
    async def try_it() -> None:
        shelter = Shelter(30)
        try:
            with pytest.raises(ClipError, match="cannot be decoded"):
                await shelter.run(os.abort)
            assert await shelter.run(os.getpid) != os.getpid()
        finally:
            shelter.close()

    asyncio.run(try_it())


def test_a_shelter_has_no_patience_for_what_hangs() -> None:
    async def try_it() -> None:
        shelter = Shelter(0.5)
        try:
            with pytest.raises(ClipError, match="longer than"):
                await shelter.run(signal.pause)
        finally:
            shelter.close()

    asyncio.run(try_it())
