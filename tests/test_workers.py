"""Work that processes share: complete, in order if asked, whatever becomes of the processes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.odd_jobs import DEADLY, double

from densevidcap import workers
from densevidcap.workers import (
    AHEAD,
    ROOM,
    count_workers,
    measure_free_memory,
    share_work,
)


@given(st.integers(0, 10**6), st.integers(0, 2**40), st.integers(1, 100))
def test_workers_have_a_cpu_memory_and_work(clips: int, free: int, worth: int) -> None:
    found = count_workers(clips, free=free, worth=worth)
    assert 1 <= found <= (os.cpu_count() or 1)
    assert found == 1 or (found * worth <= clips and found * ROOM <= free)
    assert count_workers(10**6, free=2**60) == (os.cpu_count() or 1)
    assert measure_free_memory() >= 0


class FrailPool:
    """Threads in place of processes; a deadly job ends all of them, as in a real pool."""

    def __init__(self, threads: int, deadly: set[int], seed: int, slow: int) -> None:
        self._threads = ThreadPoolExecutor(threads)
        self._deadly, self._chance, self._lock = deadly, random.Random(seed), Lock()
        self._slow = slow
        self._futures: list[Future[int]] = []
        self._is_broken = False

    def submit(self, _: Any, job: int) -> Future[int]:
        with self._lock:
            if self._is_broken:
                raise BrokenProcessPool
            future: Future[int] = Future()
            self._futures.append(future)
        seconds = 0.05 if job == self._slow else self._chance.random() / 500
        self._threads.submit(self._run, job, future, seconds)
        return future

    def _run(self, job: int, future: Future[int], seconds: float) -> None:
        time.sleep(seconds)
        with self._lock:
            if self._is_broken:
                return
            if job in self._deadly:
                self._is_broken = True
                for each in self._futures:
                    if not each.done():
                        each.set_exception(BrokenProcessPool())
            else:
                future.set_result(2 * job)

    def close(self) -> None:
        self._threads.shutdown()


JOBS = st.integers(0, 40).flatmap(
    lambda count: st.tuples(st.just(count), st.sets(st.integers(0, max(0, count - 1)), max_size=4))
)


@settings(max_examples=60, deadline=None)
@given(JOBS, st.integers(2, 4), st.booleans(), st.integers(0, 2**30), st.integers(0, 40))
@example((60, set()), 2, True, 0, 3)
def test_each_job_is_told_of_once_whatever_ends_the_workers(
    jobs: tuple[int, set[int]], count: int, ordered: bool, seed: int, slow: int
) -> None:
    """Half of the deadly jobs are so only in company. One job is slow, and what is done meanwhile
    does not pile up."""
    number, deadly = jobs
    forever = {job for job in deadly if job % 2}
    begun: list[int] = []

    @contextmanager
    def pool(_: bytes, threads: int) -> Iterator[FrailPool]:
        made = FrailPool(threads, forever if threads == 1 else deadly, seed, slow)
        yield made
        made.close()

    def give() -> Iterator[int]:
        for job in range(number):
            begun.append(job)
            yield job

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "_pool", pool)
        told = []
        for job, result in share_work(double, give(), count, lambda job: -job - 1, ordered):
            told.append((job, result))
            assert len(begun) - len(told) < AHEAD * count
    expected = [(job, -job - 1 if job in forever else 2 * job) for job in range(number)]
    assert (told if ordered else sorted(told)) == expected


@pytest.mark.thorough
def test_processes_keep_the_order_and_refuse_what_ends_them() -> None:
    jobs = [3, 1, DEADLY, 2, 9, 4, 8, 6]
    told = list(share_work(double, jobs, 2, lambda job: -job, ordered=True))
    assert told == [(job, -job if job == DEADLY else 2 * job) for job in jobs]


@pytest.mark.thorough
def test_a_script_without_a_guard_is_not_run_again(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from tests.odd_jobs import double\n"
        "from densevidcap.workers import share_work\n"
        "print([result for _, result in share_work(double, [1, 2, 3], 2, abs, True)])\n"
    )
    root = Path(__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    ran = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[2, 4, 6]\n"
