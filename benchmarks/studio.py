"""The studio under load: many clips, kills, a flood of captions, and how fast it answers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from math import inf
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from urllib.error import HTTPError
from urllib.parse import urlsplit
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
KILLS = 24
"""Of workers, at random moments."""
LONGEST_WORK = 8.0
"""Seconds that a worker is given after it took or finished its first clip."""
FLOOD = 84_000
"""Captions that all hold at the same time."""
REQUESTS = 1000


def run() -> None:
    with TemporaryDirectory() as folder:
        # The queue is what is tried, not the networks: a second of film is enough for them.
        film = write_film(Path(folder) / "film.mp4", 1, 10, (160, 90)).read_bytes()
        _kill_workers(str(Path(folder) / "killed"), film)
        data = str(Path(folder) / "data")
        with _serve(data) as (server, url):
            _measure_slider(url)
            _measure_kept(url)
            _measure_flood(url)
            started = time.perf_counter()
            with ProcessPoolExecutor(1) as second_process:
                codes = second_process.submit(_post_all, url, film, POSTED).result()
            posted = time.perf_counter() - started
            peak = _await(url, server, lambda states: states["done"] > KILLED_AFTER)
            server.kill()
        with _serve(data) as (server, url):
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


def _kill_workers(folder: str, film: bytes) -> None:
    """What was done before a kill must be done and the same after all of them."""
    random = Random(0)
    posted: set[str] = set()
    done: dict[str, bytes] = {}
    with _serve(folder) as (server, url):
        for number in range(KILLS):
            worker = _await_worker(server)
            killed_at, done_before = inf, len(done)
            while time.monotonic() < killed_at:
                jobs = json.loads(_ask(f"{url}api/clips"))
                done |= _read_results(url, jobs, done)
                taken = any(job["state"] == "working" for job in jobs)
                # Every other worker may finish a clip, else none would ever be done.
                if killed_at == inf and (taken if number % 2 else len(done) > done_before):
                    killed_at = time.monotonic() + random.uniform(0, LONGEST_WORK)
                if sum(job["state"] == "waiting" for job in jobs) < 3 and len(posted) < 90:
                    answer = _ask(f"{url}api/clips?name=clip.mp4", film)
                    posted.add(json.loads(answer)["id"])
                time.sleep(random.uniform(0, 0.3))
            worker.kill()
        before = len(done)
        _await(url, server, lambda states: not states["waiting"] + states["working"])
        jobs = {job["id"]: job for job in json.loads(_ask(f"{url}api/clips"))}
        same = sum(_read_results(url, [jobs[key]], {}).get(key) == done[key] for key in done)
    states = Counter(job["state"] for job in jobs.values())
    unexplained = sum(job["state"] == "failed" and not job["message"] for job in jobs.values())
    print(f"  {KILLS} workers killed; of {before} clips done before, {same} are done and the same")
    print(f"  posted {len(posted)}, states {dict(states)}, failed without a reason {unexplained}")
    print(f"  lost: {len(posted) - states['done'] - states['failed']} (allowed: 0)", flush=True)


def _await_worker(server: subprocess.Popen[str]) -> psutil.Process:
    """The child that has read the networks' code, if not the networks."""
    while True:
        for child in psutil.Process(server.pid).children():
            with suppress(psutil.Error):
                # The children that inspect and export, and Python's own, stay below.
                if any("torch" in file.path for file in child.memory_maps()):
                    return child
        time.sleep(0.05)


def _read_results(
    url: str, jobs: list[dict[str, str]], known: Mapping[str, bytes]
) -> dict[str, bytes]:
    new = (job["id"] for job in jobs if job["state"] == "done" and job["id"] not in known)
    return {key: _ask(f"{url}api/clips/{key}/result") for key in new}


def _measure_kept(url: str) -> None:
    connection = HTTPConnection(urlsplit(url).netloc)
    rounds = [_time_request(connection) for _ in range(REQUESTS)]
    print(
        f"  a kept connection: {REQUESTS / sum(rounds):.0f} requests a second,"
        f" {1000 * median(rounds):.1f} ms each (median)"
    )


def _measure_flood(url: str) -> None:
    place = {"time": 1, "frame": 0, "region": 0}
    grid = {"map_rows": 1, "map_columns": 1, "window": 1, "stride": 1}
    caption = {"text": "a", "confidence": 0, "log_probability": 0, "start": 0, "end": 9}
    caption |= {"boxes": [place], "evidence": [], "unsupported": [], "grid": grid}
    facts = {"version": 1, "source": "x", "duration": 9, "width": 9, "height": 9}
    facts |= {"model": {"name": "", "version": ""}}
    for count in (FLOOD, 5000):
        content = json.dumps(facts | {"captions": [caption] * count}, separators=(",", ":"))
        with ThreadPoolExecutor(1) as visitor:
            start = time.perf_counter()
            answer = visitor.submit(_post_status, f"{url}api/results", content.encode())
            connection = HTTPConnection(urlsplit(url).netloc)
            rounds = [_time_request(connection)]
            while not answer.done():
                rounds.append(_time_request(connection))
                time.sleep(0.01)
            seconds = time.perf_counter() - start
        print(
            f"  {count:,} captions in {len(content) / 2**20:.1f} MiB: {answer.result()} after"
            f" {seconds:.2f} s; {len(rounds)} requests meanwhile,"
            f" the slowest {1000 * max(rounds):.0f} ms"
        )


def _time_request(connection: HTTPConnection) -> float:
    start = time.perf_counter()
    connection.request("GET", "/api/studio")
    connection.getresponse().read()
    return time.perf_counter() - start


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
        return _post_status(f"{url}api/clips?name=clip{number}.mp4", film)

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


def _post_status(url: str, body: bytes) -> int:
    try:
        with urlopen(Request(url, body)) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def _ask(url: str, body: bytes | None = None) -> bytes:
    with urlopen(Request(url, body)) as answer:
        content: bytes = answer.read()
    return content
