"""A studio as users run it: the command in a process of its own, asked over HTTP."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx


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
def run_studio(data: Path, model: Path, options: Sequence[str] = ()) -> Iterator[RunningStudio]:
    command = [sys.executable, "-m", "densevidcap", "serve", "--port", "0"]
    command += ["--data", str(data), "--model", str(model), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            with httpx.Client(base_url=url, timeout=120) as client:
                yield RunningStudio(process, url, data, client)
        finally:
            process.terminate()
