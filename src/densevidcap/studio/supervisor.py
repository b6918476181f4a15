"""Keeps the worker alive and the data folder tidy, from a thread of the server."""

from __future__ import annotations

import logging
import multiprocessing
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from pathlib import Path
from threading import Event, Thread

from densevidcap.studio.files import DataFolder
from densevidcap.studio.jobs import Jobs
from densevidcap.studio.limits import MINUTE, StudioLimits

LOOK = 0.2
"""Seconds between two looks at the worker."""
TIDY = 60.0
"""Seconds between two removals of old clips."""
PAUSE = 10.0
"""Seconds between two workers: those that cannot even start must not keep the machine busy."""
LATE = MINUTE
"""Seconds without a look after which the supervisor itself is held up."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fault:
    """Something that went wrong."""

    message: str
    time: float
    """Seconds since 1970 when it was noticed."""


class Supervisor:
    """Start it once for a data folder; a worker that dies or hangs is replaced.

    Whatever goes wrong (a full disk, too many open files, a database that is in use) is said,
    and tried again until it goes well.
    """

    def __init__(
        self,
        data: DataFolder,
        jobs: Jobs,
        model: Path | None,
        limits: StudioLimits,
        library: Path | None = None,
    ) -> None:
        self._data, self._jobs, self._model, self._limits = data, jobs, model, limits
        self._library = library
        self._stopping = Event()
        self._thread = Thread(target=self._watch, name="supervisor")
        self._worker: SpawnProcess | None = None
        self._hired = -PAUSE
        self._tidied = self._looked = time.monotonic()
        self.is_working = False
        """Whether the worker was alive at the last look."""
        self.faults: dict[str, Fault] = {}
        """What keeps going wrong, by what was tried."""
        self.last_fault: Fault | None = None

    @property
    def is_watching(self) -> bool:
        return self._thread.is_alive() and time.monotonic() - self._looked < LATE

    def start(self) -> None:
        """Clips that a server which is gone left in work wait again; what was to go, goes."""
        self._jobs.give_back(died=False)
        if self._library is not None:
            # The library has them; the queue is of what is to be done.
            self._jobs.drop_done()
        for key in self._jobs.list_passing():
            self._let_go(key)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def tidy(self) -> None:
        """Remove clips that are too old."""
        now = time.monotonic()
        self._jobs.advance(now - self._tidied)
        self._tidied = now
        for key in self._jobs.expire(self._limits.max_age):
            self._let_go(key)

    def _watch(self) -> None:
        begun = -TIDY
        while not self._stopping.wait(LOOK):
            self._try("looking after the worker", self._look)
            if time.monotonic() - begun > (PAUSE if self.faults else TIDY):
                begun = time.monotonic()
                self._try("removing old clips", self.tidy)
            self._looked = time.monotonic()
        # The time since the last look counts too.
        self._try("removing old clips", self.tidy)
        self._try("ending the worker", self._dismiss)

    def _try(self, what: str, do: Callable[[], None]) -> None:
        try:
            do()
        except Exception as error:
            fault = Fault(f"{what}: {_describe(error)}", time.time())
            before = self.faults.get(what)
            if before is None or before.message != fault.message:
                # Where an error like these came from does not matter.
                foreseen = isinstance(error, OSError | sqlite3.Error)
                log.error("studio: %s", fault.message, exc_info=not foreseen)
                self.faults[what] = self.last_fault = fault
        else:
            if self.faults.pop(what, None) is not None:
                log.warning("studio: %s: goes well again", what)

    def _look(self) -> None:
        worker = self._worker
        self.is_working = worker is not None and worker.is_alive()
        if worker is not None and self.is_working and self._is_overdue():
            worker.kill()
            worker.join()
        if not self.is_working and time.monotonic() - self._hired > PAUSE:
            if worker is not None:
                log.warning("studio: the worker ended (%s); a new one comes", worker.exitcode)
                self.last_fault = Fault(f"the worker ended ({worker.exitcode})", time.time())
                self._worker = None
            self._jobs.give_back(died=True)
            self._hired = time.monotonic()
            self._worker = self._hire()
            self.is_working = True

    def _is_overdue(self) -> bool:
        return self._jobs.is_overdue(self._limits.max_work)

    def _hire(self) -> SpawnProcess:
        context = multiprocessing.get_context("spawn")
        arguments = self._data, self._model, self._limits, self._library
        worker = context.Process(target=_work, args=arguments, name="worker", daemon=True)
        worker.start()
        return worker

    def _dismiss(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker.join()

    def _let_go(self, key: str) -> None:
        self._data.remove(key)
        self._jobs.forget(key)


def _describe(error: Exception) -> str:
    """In a line, without the paths that an OSError names: visitors see it."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return f"{type(error).__name__} ({reason})" if reason else type(error).__name__


def _work(data: DataFolder, model: Path | None, limits: StudioLimits, library: Path | None) -> None:
    # Only the worker needs the networks.
    from densevidcap.studio.worker import work

    work(data, model, limits, library)
