"""Work on what people post, in a process that may die without harm to the server."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from densevidcap.errors import ClipError
from densevidcap.studio.orphans import die_with_parent

T = TypeVar("T")


class Shelter:
    """One process, one task at a time; when it dies or takes too long, the next task gets a new
    one. A task that is cancelled ends with its process."""

    def __init__(self, most_seconds: float) -> None:
        self._most_seconds = most_seconds
        self._pool: ProcessPoolExecutor | None = None
        # A process that dies takes all tasks given to it along: so it never has a second one.
        self._turn = asyncio.Lock()

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """The function's result or its error; a ClipError if the process did not survive it."""
        async with self._turn:
            try:
                # Not earlier: where no process can be made, the next task shall try again.
                self._pool = self._pool or self._build()
                task = asyncio.wrap_future(self._pool.submit(function, *arguments))
            except OSError:
                self.close()
                raise
            try:
                return await asyncio.wait_for(task, self._most_seconds)
            except BrokenProcessPool:
                self.close()
                raise ClipError("cannot be decoded; convert it, for example with ffmpeg") from None
            except asyncio.TimeoutError:
                self.close()
                raise ClipError(
                    f"takes longer than {self._most_seconds:g} seconds to read; cut or shrink it"
                ) from None
            except asyncio.CancelledError:
                self.close()
                raise

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        # A pool waits for its task at exit, however long that takes; a process can be ended.
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(cancel_futures=True)

    @staticmethod
    def _build() -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(1, mp_context=context, initializer=die_with_parent)
