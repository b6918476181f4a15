"""What the routes share: the parts of one running studio, and what they refuse."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from anyio import CancelScope
from anyio.to_thread import run_sync
from fastapi import HTTPException

from densevidcap.errors import DenseVidCapError
from densevidcap.pipeline.analysis import FILE, Analysis
from densevidcap.studio.files import ClipFiles, DataFolder
from densevidcap.studio.jobs import Job, Jobs
from densevidcap.studio.limits import DAY, StudioLimits
from densevidcap.studio.places import Paths
from densevidcap.studio.sandbox import Sandbox
from densevidcap.studio.supervisor import Supervisor


@dataclass(frozen=True)
class Studio:
    data: DataFolder
    jobs: Jobs
    limits: StudioLimits
    supervisor: Supervisor
    probe: Sandbox
    """Looks at what is posted."""
    exporter: Sandbox
    """Writes exports; apart from the probe, because a film takes its time."""
    reader: Sandbox
    """Reads captions made earlier; apart from both, because it waits for nothing."""
    exports: Paths
    streams: Paths
    readings: Paths
    _arriving: set[str] = field(default_factory=set)
    """Clips that are being sent. They take disk space before they are in the queue."""

    @asynccontextmanager
    async def arrive(self, key: str) -> AsyncIterator[None]:
        """While a clip is being sent, it has a place in the queue; refused if that is full."""
        waiting, kept = await run_sync(self.jobs.count)
        waiting += len(self._arriving)
        if waiting >= self.limits.max_waiting:
            raise HTTPException(
                429, f"{waiting} clips wait already; try again in a minute", {"Retry-After": "60"}
            )
        if kept >= self.limits.max_clips:
            raise HTTPException(409, f"{kept} clips are kept already; delete one first")
        self._arriving.add(key)
        try:
            await run_sync(self.jobs.let_pass, key)
            yield
        finally:
            self._arriving.remove(key)
            with CancelScope(shield=True):
                if await run_sync(self.jobs.find, key) is None:
                    await self.drop(key)

    async def drop(self, key: str) -> None:
        """The same as `let_go`, also for a request that is being given up."""
        with CancelScope(shield=True):
            await run_sync(self.let_go, key)

    def let_go(self, key: str) -> None:
        """Remove what a clip or an export of that id left."""
        self.data.remove(key)
        self.jobs.forget(key)

    def find(self, key: str) -> Job:
        job = self.jobs.find(key)
        if job is None:
            raise HTTPException(404, "no such clip; it may have been deleted")
        if job.state == "expired":
            days = self.limits.max_age / DAY
            raise HTTPException(410, f"clips are kept for {days:g} days only; post it again")
        return job

    def find_done(self, key: str) -> tuple[ClipFiles, Analysis]:
        job = self.find(key)
        if job.state != "done":
            reason = f"{job.name}: is {job.state}; it has no captions"
            raise HTTPException(409, reason if not job.message else job.message)
        files = self.data.clip(key)
        try:
            return files, load_analysis(files.analysis)
        except DenseVidCapError:
            if (files.analysis / FILE).exists():
                reason = f"{job.name}: captioned by another version of densevidcap; post it again"
                raise HTTPException(410, reason) from None
            # Deleted between the two questions.
            raise HTTPException(404, "no such clip; it may have been deleted") from None


@lru_cache(maxsize=8)
def load_analysis(folder: Path) -> Analysis:
    """Of a finished clip, whose analysis never changes."""
    return Analysis.load(folder)
