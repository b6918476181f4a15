"""The studio under load: fifty clips at once, a kill in the middle, and how fast sliders answer."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil

from benchmarks.decode import write_film

CLIP = Path("samples/bigbuckbunny.mp4")
"""What the slider chooses sentences of."""
POSTED = 50
KILLED_AFTER = 5
"""Clips that are done when the server is killed."""
ALLOWED = 0.05
"""What a slider may take of a whole run."""
PATIENCE = 1200
"""Seconds until clips that are not over count as lost."""


def run() -> None:
    with TemporaryDirectory() as folder:
        # The queue is what is tried, not the networks: a second of film is enough for them.
        film = write_film(Path(folder) / "film.mp4", 1, 10, (160, 90)).read_bytes()
        with _serve(folder) as (server, url):
            _measure_slider(url)
            started = time.perf_counter()
            with ProcessPoolExecutor(1) as second_process:
                codes = second_process.submit(_post_all, url, film, POSTED).result()
            posted = time.perf_counter() - started
            peak = _await(url, server, lambda states: states["done"] > KILLED_AFTER)
            server.kill()
        with _serve(folder) as (server, url):
            again = _await(url, server, lambda states: not states["waiting"] + states["working"])
            states = _count_states(url)
    seconds = time.perf_counter() - started
    accepted, refused = codes[202], codes[429]
    print(f"  {POSTED} posts at once, answered in {posted:.1f} s: {dict(codes)}")
    print(f"  killed after {KILLED_AFTER} clips, restarted; all over after {seconds:.0f} s")
    print(f"  accepted {accepted}, refused with a reason {refused}, states {dict(states)}")
    # The clip of the slider's figure is kept too.
    print(f"  lost: {accepted + 1 - states['done'] - states['failed']} (allowed: 0)")
    print(f"  peak memory of all processes {max(peak, again) / 2**20:.0f} MiB")


def _measure_slider(url: str) -> None:
    key = json.loads(_ask(f"{url}api/clips?name=clip.mp4", CLIP.read_bytes()))["id"]
    events = urlopen(f"{url}api/clips/{key}/events")
    begun = None
    for line in events:
        if begun is None and b'"working"' in line:
            begun = time.perf_counter()
    whole = time.perf_counter() - (begun or 0)
    rounds = []
    for number in range(41):
        start = time.perf_counter()
        _ask(f"{url}api/clips/{key}/result?k=5&diversity={number / 40}")
        rounds.append(time.perf_counter() - start)
    share = median(rounds) / whole
    print(f"  caption run {whole:.2f} s, slider {1000 * median(rounds):.0f} ms (median of 41)")
    print(f"  slider / caption run = {share:.4f} (allowed: {ALLOWED})")


@contextmanager
def _serve(folder: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "densevidcap", "serve", "--port", "0", "--data", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server, server.stdout.readline().strip()
        finally:
            server.terminate()


def _post_all(url: str, film: bytes, count: int) -> Counter[int]:
    """The status of each answer; all are asked for at the same time."""

    def post(number: int) -> int:
        try:
            _ask(f"{url}api/clips?name=clip{number}.mp4", film)
        except HTTPError as error:
            return error.code
        return 202

    with ThreadPoolExecutor(count) as visitors:
        return Counter(visitors.map(post, range(count)))


def _await(
    url: str, server: subprocess.Popen[str], condition: Callable[[Counter[str]], bool]
) -> int:
    """Bytes of memory that the server and its children took at most until then."""
    process = psutil.Process(server.pid)
    peak, deadline = 0, time.monotonic() + PATIENCE
    while not condition(_count_states(url)) and time.monotonic() < deadline:
        family = [process, *process.children(recursive=True)]
        peak = max(peak, sum(member.memory_info().rss for member in family))
        time.sleep(0.5)
    return peak


def _count_states(url: str) -> Counter[str]:
    return Counter(job["state"] for job in json.loads(_ask(f"{url}api/clips")))


def _ask(url: str, body: bytes | None = None) -> bytes:
    with urlopen(Request(url, body)) as answer:
        content: bytes = answer.read()
    return content
