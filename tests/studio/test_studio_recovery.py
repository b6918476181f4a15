"""What dies does not take the others along: a worker, a process that exports, the server."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner
from tests.studio.running import (
    RunningStudio,
    await_that,
    begin_upload,
    run_idle_studio,
    run_studio,
)

from densevidcap.cli import root
from densevidcap.errors import ClipError
from densevidcap.studio.limits import StudioLimits
from densevidcap.studio.lock import StudioError, hold
from densevidcap.studio.sandbox import Sandbox


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
        upload = begin_upload(studio.client, 10)
        await_that(lambda: len(list((tmp_path / "clips").iterdir())) == 4, 30)
        children = psutil.Process(studio.process.pid).children()
        studio.process.kill()
        studio.process.wait()
        upload.close()
        # None goes on in secret.
        await_that(lambda: not any(map(is_alive, children)))
    (tmp_path / "clips" / "mine").mkdir()
    with run_studio(tmp_path, model) as studio:
        assert [studio.await_end(key)["state"] for key in keys] == ["done"] * 3
        assert {path.name for path in (tmp_path / "clips").iterdir()} == {*keys, "mine"}


def test_the_supervisor_outlives_a_database_that_is_gone_for_a_while(
    model: Path, clip: Path, tmp_path: Path
) -> None:
    data, away = tmp_path / "data", tmp_path / "away"
    with run_studio(data, model) as studio:
        key = studio.caption(clip)
        assert studio.client.get("/api/health").raise_for_status().json()["ok"]
        data.rename(away)
        kill_worker(studio)
        await_that(lambda: studio.client.get("/api/health").json()["errors"] != [])
        ailing = studio.client.get("/api/health")
        assert (ailing.status_code, ailing.json()["supervisor"]) == (503, True)
        assert "OperationalError" in ailing.json()["last_error"]
        assert time.time() - 300 < ailing.json()["since"] <= time.time()
        assert str(tmp_path) not in ailing.text
        assert studio.client.get(f"/api/clips/{key}").status_code == 503
        away.rename(data)
        studio.caption(clip)
        await_that(lambda: studio.client.get("/api/health").status_code == 200)
        health = studio.client.get("/api/health").json()
        assert (health["ok"], health["worker"], health["errors"]) == (True, True, [])
        assert health["last_error"]


def test_the_supervisor_outlives_a_lack_of_open_files(
    model: Path, clip: Path, tmp_path: Path
) -> None:
    with run_studio(tmp_path, model) as studio:
        studio.caption(clip)
        server = psutil.Process(studio.process.pid)
        usual = server.rlimit(psutil.RLIMIT_NOFILE)
        server.rlimit(psutil.RLIMIT_NOFILE, (server.num_fds(), usual[1]))
        kill_worker(studio)
        # Visitors find no room either, so that nobody can ask how it is.
        time.sleep(1)
        server.rlimit(psutil.RLIMIT_NOFILE, usual)
        studio.caption(clip)
        assert studio.client.get("/api/health").json()["last_error"]


def test_health_tells_of_a_worker_that_cannot_start(tmp_path: Path) -> None:
    with run_idle_studio(tmp_path, StudioLimits()) as client:
        await_that(lambda: client.get("/api/health").json()["last_error"] != "")
        health = client.get("/api/health")
        assert "worker ended" in health.json()["last_error"]
        await_that(lambda: client.get("/api/health").status_code == 503)
        assert not client.get("/api/health").json()["worker"]


def test_a_second_studio_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with hold(tmp_path), pytest.raises(StudioError, match="another --data"), hold(tmp_path):
        pass
    with hold(tmp_path):
        pass


def test_a_model_that_is_none_is_named_before_anything_starts(tmp_path: Path) -> None:
    run = CliRunner().invoke(root, ["serve", "--model", str(tmp_path), "--data", str(tmp_path)])
    assert str(tmp_path / "words") in str(run.exception)


def test_a_sandbox_outlives_what_dies_in_it() -> None:
    async def try_it() -> None:
        sandbox = Sandbox(30)
        try:
            with pytest.raises(ClipError, match="cannot be decoded"):
                await sandbox.run(os.abort)
            assert await sandbox.run(os.getpid) != os.getpid()
        finally:
            sandbox.close()

    asyncio.run(try_it())


def test_a_sandbox_that_was_killed_while_idle_is_made_anew() -> None:
    async def try_it() -> None:
        sandbox = Sandbox(30)
        try:
            process = await sandbox.run(os.getpid)
            os.kill(process, signal.SIGKILL)
            await asyncio.sleep(1)  # until the pool has seen it
            assert await sandbox.run(os.getpid) not in (process, os.getpid())
        finally:
            sandbox.close()

    asyncio.run(try_it())


def test_a_sandbox_has_no_patience_for_what_hangs() -> None:
    async def try_it() -> None:
        sandbox = Sandbox(0.5)
        try:
            with pytest.raises(ClipError, match="longer than"):
                await sandbox.run(signal.pause)
        finally:
            sandbox.close()

    asyncio.run(try_it())
