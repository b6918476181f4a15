"""Keeps the worker alive and the data folder tidy, from a thread of the server."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.context import SpawnProcess
from pathlib import Path
from threading import Event, Thread

from densevidcap.studio.files import DataFolder
from densevidcap.studio.jobs import Jobs
from densevidcap.studio.limits import StudioLimits

LOOK = 0.2
"""Seconds between two looks at the worker."""
TIDY = 60.0
"""Seconds between two removals of old clips."""
PAUSE = 10.0
"""Seconds between two workers: those that cannot even start must not keep the machine busy."""


class Supervisor:
    """Start it once for a data folder; a worker that dies or hangs is replaced."""

    def __init__(
        self, data: DataFolder, jobs: Jobs, model: Path | None, limits: StudioLimits
    ) -> None:
        self._data, self._jobs, self._model, self._limits = data, jobs, model, limits
        self._stopping = Event()
        self._thread = Thread(target=self._watch, name="supervisor")

    def start(self) -> None:
        """Clips that a server which is gone left in work wait again."""
        self._jobs.give_back(died=False)
        self._data.sweep({job.id for job in self._jobs.list_all()})
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def tidy(self) -> None:
        """Remove clips that are too old."""
        for key in self._jobs.expire(self._limits.max_age):
            self._data.clip(key).remove()

    def _watch(self) -> None:
        worker, hired, tidied = self._hire(), time.monotonic(), -TIDY
        while not self._stopping.wait(LOOK):
            if time.monotonic() - tidied > TIDY:
                self.tidy()
                tidied = time.monotonic()
            if worker.is_alive() and self._jobs.is_overdue(self._limits.max_work):
                worker.kill()
                worker.join()
            if not worker.is_alive() and time.monotonic() - hired > PAUSE:
                self._jobs.give_back(died=True)
                worker, hired = self._hire(), time.monotonic()
        worker.kill()
        worker.join()

    def _hire(self) -> SpawnProcess:
        context = multiprocessing.get_context("spawn")
        worker = context.Process(
            target=_work, args=(self._data, self._model, self._limits), name="worker", daemon=True
        )
        worker.start()
        return worker


def _work(data: DataFolder, model: Path | None, limits: StudioLimits) -> None:
    # Only the worker needs the networks.
    from densevidcap.studio.worker import work

    work(data, model, limits)
