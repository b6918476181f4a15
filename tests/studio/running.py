"""A studio as users run it: the command in a process of its own, asked over HTTP."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import httpx

from densevidcap.studio.app import make_app
from densevidcap.studio.door import build_server, open_door
from densevidcap.studio.limits import StudioLimits


@dataclass(frozen=True)
class RunningStudio:
    process: subprocess.Popen[str]
    url: str
    """As printed."""
    data: Path
    client: httpx.Client

    def post(self, clip: Path) -> httpx.Response:
        return self.client.post("/api/clips", params={"name": clip.name}, content=clip.read_bytes())

    def caption(self, clip: Path) -> str:
        """The id of a clip that is done."""
        key: str = self.post(clip).raise_for_status().json()["id"]
        job = self.await_end(key)
        assert job["state"] == "done", job
        return key

    def await_end(self, key: str, seconds: float = 300) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            job: dict[str, Any] = self.client.get(f"/api/clips/{key}").raise_for_status().json()
            if job["state"] in ("done", "failed"):
                return job
            time.sleep(0.1)
        raise TimeoutError(f"{key} is not over")

    def captions(self, key: str, **choice: float) -> list[dict[str, Any]]:
        result = self.client.get(f"/api/clips/{key}/result", params=choice).raise_for_status()
        captions: list[dict[str, Any]] = result.json()["captions"]["captions"]
        return captions


def await_that(condition: Callable[[], bool], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def run_studio(
    data: Path, model: Path, options: Sequence[str] = (), library: bool = False
) -> Iterator[RunningStudio]:
    """On a library, or with a data folder of its own."""
    command = [sys.executable, "-m", "densevidcap", "serve", "--port", "0"]
    command += [str(data)] if library else ["--data", str(data)]
    command += ["--model", str(model), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            with httpx.Client(base_url=url, timeout=120) as client:
                yield RunningStudio(process, url, data, client)
        finally:
            process.terminate()


@contextmanager
def run_idle_studio(data: Path, limits: StudioLimits) -> Iterator[httpx.Client]:
    """With limits that the command does not offer, in this process; no clip is ever captioned."""
    door = open_door("127.0.0.1", 0)
    app = make_app(data, model=data / "none", limits=limits)
    server = build_server(app, limits.max_delay)
    thread = Thread(target=server.run, args=([door],))
    thread.start()
    try:
        url = f"http://127.0.0.1:{door.getsockname()[1]}"
        with httpx.Client(base_url=url, timeout=120) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


def begin_request(client: httpx.Client, line: str, body: int = 0, of: int = 0) -> socket.socket:
    """The line of a request, with so many bytes of a body that should have more."""
    host, port = client.base_url.host, client.base_url.port
    assert port is not None
    head = f"{line} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {of}\r\n\r\n"
    connection = socket.create_connection((host, port), timeout=60)
    connection.sendall(head.encode() + bytes(body))
    return connection


def begin_upload(client: httpx.Client, length: int) -> socket.socket:
    return begin_request(client, "POST /api/clips?name=x", length, 99999)
