"""What one visitor may take of a studio."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from tests.export.made_captions import make_caption, make_captions
from tests.studio.running import (
    RunningStudio,
    await_that,
    begin_request,
    begin_upload,
    run_idle_studio,
)
from tests.studio.small_model import write_clip

from densevidcap.export.json_file import to_dict
from densevidcap.studio.door import open_door
from densevidcap.studio.jobs import Jobs
from densevidcap.studio.limits import StudioLimits
from densevidcap.studio.lock import StudioError

IMPATIENT = replace(StudioLimits(), max_delay=1.0)
PLENTY = (1000, 1000)


def list_folders(data: Path, kind: str) -> list[Path]:
    folder = data / kind
    return list(folder.iterdir()) if folder.exists() else []


def test_a_slow_upload_is_sent_away(tmp_path: Path) -> None:
    with run_idle_studio(tmp_path, IMPATIENT) as client:
        clip = begin_upload(client, 10)
        await_that(lambda: len(list_folders(tmp_path, "clips")) == 1)
        result = begin_request(client, "POST /api/results", 10, 99999)
        for connection in (clip, result):
            with connection.makefile("rb") as file:
                answer = file.read()
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"32 KiB a second" in answer
        await_that(lambda: not Jobs(tmp_path / "jobs.sqlite").list_passing())
        assert not list_folders(tmp_path, "clips")


def test_a_steady_upload_may_take_its_time(tmp_path: Path) -> None:
    limits = replace(IMPATIENT, min_rate=10.0)
    with run_idle_studio(tmp_path, limits) as client:

        def send() -> Iterator[bytes]:
            # Longer in all than anybody may say nothing.
            for _ in range(8):
                yield b"no captions"
                time.sleep(0.25)

        assert client.post("/api/results", content=send()).status_code == 415


@pytest.mark.parametrize("said", [b"", b"GET /api/studio HTTP/1.1\r\nHo"])
def test_who_asks_nothing_is_sent_away(tmp_path: Path, said: bytes) -> None:
    with run_idle_studio(tmp_path, IMPATIENT) as client:
        assert client.base_url.port is not None
        address = (client.base_url.host, client.base_url.port)
        with socket.create_connection(address, timeout=60) as connection:
            connection.sendall(said)
            assert connection.recv(100) == b""
        client.get("/api/studio").raise_for_status()


def test_event_streams_of_one_visitor_are_limited(tmp_path: Path) -> None:
    with run_idle_studio(tmp_path, replace(StudioLimits(), max_streams=2)) as client:
        Jobs(tmp_path / "jobs.sqlite").add("clip", "clip.mp4", *PLENTY)
        open_streams = [begin_request(client, "GET /api/clips/clip/events") for _ in range(2)]
        for stream in open_streams:
            assert b"200 OK" in stream.recv(10_000)
        refused = client.get("/api/clips/clip/events")
        assert (refused.status_code, "2 event streams" in refused.text) == (429, True)
        open_streams[0].close()

        def get_in() -> bool:
            with client.stream("GET", "/api/clips/clip/events") as answer:
                return answer.status_code == 200

        await_that(get_in)
        open_streams[1].close()


def test_captions_made_earlier_are_limited(tmp_path: Path) -> None:
    content = json.dumps(to_dict(make_captions("clip.mp4", *[make_caption()] * 11)))
    disguised = content.replace('"log_probability"', '"log_\\u0070robability"')
    for limits, sent, status, reason in (
        (replace(StudioLimits(), max_captions=10), content, 413, "10 fit"),
        (replace(StudioLimits(), max_captions=10), disguised, 413, "10 fit"),
        (replace(StudioLimits(), max_text=len(content) - 1), content, 413, "bytes fit"),
        (replace(StudioLimits(), max_readings=0), content, 429, "0 results"),
    ):
        with run_idle_studio(tmp_path, limits) as client:
            answer = client.post("/api/results", content=sent, timeout=60)
            assert (answer.status_code, reason in answer.text) == (status, True)
    with run_idle_studio(tmp_path, replace(StudioLimits(), max_captions=11)) as client:
        assert client.post("/api/results", content=disguised, timeout=60).status_code == 200


def test_exports_are_limited_and_dropped_when_nobody_waits(
    studio: RunningStudio, done: str, tmp_path: Path
) -> None:
    folder = tmp_path / "clips" / done
    with run_idle_studio(tmp_path, replace(StudioLimits(), max_exports=1)) as client:
        shutil.copytree(studio.data / "clips" / done, folder)
        jobs = Jobs(tmp_path / "jobs.sqlite")
        jobs.add(done, "square.mp4", *PLENTY)
        jobs.take()
        jobs.finish(done)
        # A film that takes minutes.
        write_clip(folder / "source.mp4", 400)
        line = begin_request(client, f"GET /api/clips/{done}/export/mp4")
        await_that(lambda: len(list_folders(tmp_path, "exports")) == 1)
        refused = client.get(f"/api/clips/{done}/export/json")
        assert (refused.status_code, "1 files" in refused.text) == (429, True)
        line.close()

        def export() -> httpx.Response:
            return client.get(f"/api/clips/{done}/export/json", timeout=60)

        await_that(lambda: export().status_code == 200, 60)
        await_that(lambda: not jobs.list_passing())
        assert not list_folders(tmp_path, "exports")


def test_answers_are_not_held_back() -> None:
    """Without TCP_NODELAY, an answer's body waits until its headers are acknowledged."""

    async def look() -> int:
        seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            line = writer.get_extra_info("socket")
            seen.set_result(line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        door = open_door("127.0.0.1", 0)
        async with await asyncio.start_server(greet, sock=door):
            await asyncio.open_connection(*door.getsockname())
            return await seen

    assert asyncio.run(look()) != 0


def test_an_address_in_use_is_named() -> None:
    with open_door("127.0.0.1", 0) as door, pytest.raises(StudioError, match="another --host"):
        open_door(*door.getsockname())
