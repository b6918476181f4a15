"""Work on many clips, shared by processes of this machine that have a model each."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from itertools import islice
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any, TypeVar

from densevidcap.errors import ClipError

Job = TypeVar("Job")
Result = TypeVar("Result")

WORTH = 10
"""Clips whose captioning is worth the start of another worker."""
ROOM = 2**30
"""Bytes of free memory for each: a model at work takes about three quarters of it."""
AHEAD = 8
"""Results for each worker, at most, that wait for the one whose turn it is."""


def count_workers(
    clips: int, device: str = "auto", free: int | None = None, worth: int = WORTH
) -> int:
    """How many share so many clips best: one a CPU, as far as memory and work are enough.

    On other devices than CPUs it is one, and so it is for fewer than twice `worth` clips.
    """
    from densevidcap.models.device import resolve_device

    if clips < 2 * worth or resolve_device(device).type != "cpu":
        return 1
    free = measure_free_memory() if free is None else free
    return max(1, min(os.cpu_count() or 1, clips // worth, free // ROOM))


def measure_free_memory() -> int:
    """Bytes that processes can have; 0 where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(1024 * int(each.split()[1]) for each in lines if each.startswith("MemAvail"))
    except (OSError, ValueError, StopIteration):
        return 0


def refuse_deadly(clip: str) -> ClipError:
    return ClipError(f"{clip}: ends the process that reads it; shrink or cut it, or leave it out")


def share_work(
    work: Callable[[Job], Result],
    jobs: Iterable[Job],
    workers: int,
    refuse: Callable[[Job], Result],
    ordered: bool = False,
) -> Generator[tuple[Job, Result], None, None]:
    """Each job with what became of it, as soon as that is known; `ordered`: in the jobs' order.

    Each worker has a copy of `work`. A job that ends its worker, as one that needs more memory than
    there is may do, costs no other: all that were in work are tried again one by one, and the one
    that does it again is refused. What `work` raises is raised here.
    """
    if workers == 1:
        for job in jobs:
            yield job, work(job)
        return
    packed = _pack(work)
    waiting = iter(jobs)
    while True:
        left: dict[Future[Result], Job] = {}
        with _pool(packed, workers) as pool:
            yield from _share(pool, waiting, workers, ordered, left)
        if not left:
            return
        for future, job in left.items():
            yield job, _do_apart(packed, job, refuse) if _is_lost(future) else future.result()


def _share(
    pool: ProcessPoolExecutor,
    waiting: Iterator[Job],
    workers: int,
    ordered: bool,
    left: dict[Future[Result], Job],
) -> Iterator[tuple[Job, Result]]:
    """No more than one job waits for each worker; what a broken pool had is `left`, in order."""
    taken: dict[Future[Result], Job] = {}
    while True:
        in_work = sum(not future.done() for future in taken)
        room = min(2 * workers - in_work, AHEAD * workers - len(taken))
        for job in islice(waiting, max(0, room)):
            taken[_submit(pool, job)] = job
        if not taken:
            return
        if unfinished := [future for future in taken if not future.done()]:
            wait(unfinished, return_when=FIRST_COMPLETED)
        for future in [*taken]:
            if future.done():
                if _is_lost(future):
                    left.update(taken)
                    return
                yield taken.pop(future), future.result()
            elif ordered:
                break


def _submit(pool: ProcessPoolExecutor, job: Any) -> Future[Any]:
    try:
        return pool.submit(_work, job)
    except BrokenProcessPool as error:
        lost: Future[Any] = Future()
        lost.set_exception(error)
        return lost


def _is_lost(future: Future[Any]) -> bool:
    """Whether its worker ended before it did, or it was never begun."""
    return future.cancelled() or isinstance(future.exception(), BrokenProcessPool)


def _do_apart(packed: bytes, job: Job, refuse: Callable[[Job], Result]) -> Result:
    with _pool(packed, 1) as pool:
        future = _submit(pool, job)
        return refuse(job) if _is_lost(future) else future.result()


def _pack(work: Callable[[Any], Any]) -> bytes:
    """By plain pickle: processes' own way puts tensors into shared memory, which may be small."""
    return pickle.dumps(work)


@contextmanager
def _pool(packed: bytes, workers: int) -> Iterator[ProcessPoolExecutor]:
    threads = max(1, (os.cpu_count() or 1) // workers)
    with ExitStack() as stack:
        pool = ProcessPoolExecutor(workers, _Context(), _begin_work, (packed, threads))
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        yield pool


class _Process(SpawnProcess):
    """A new process that does not run again the script that started it."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        main = sys.modules["__main__"]
        hidden = {name: main.__dict__.pop(name, None) for name in ("__spec__", "__file__")}
        main.__spec__ = None
        try:
            return SpawnProcess._Popen(process_obj)
        finally:
            main.__dict__.update({name: each for name, each in hidden.items() if each is not None})


class _Context(SpawnContext):
    Process = _Process


_working: list[Callable[[Any], Any]] = []
"""Of a worker: what it does."""


def _begin_work(packed: bytes, threads: int) -> None:
    import torch

    # Ctrl-C is for the process that was started by hand; it also reaches this one.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    torch.set_num_threads(min(threads, torch.get_num_threads()))
    _end_with_parent()
    _working[:] = [pickle.loads(packed)]


def _end_with_parent() -> None:
    """Workers of a process that was killed would wait for ever."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _work(job: Any) -> Any:
    return _working[0](job)
