"""What the routes share: the parts of one running studio, and what they refuse."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fastapi import HTTPException

from densevidcap.errors import DenseVidCapError
from densevidcap.pipeline.analysis import Analysis
from densevidcap.studio.files import ClipFiles, DataFolder
from densevidcap.studio.jobs import Job, Jobs
from densevidcap.studio.limits import DAY, StudioLimits
from densevidcap.studio.shelter import Shelter


@dataclass(frozen=True)
class Studio:
    data: DataFolder
    jobs: Jobs
    limits: StudioLimits
    doorman: Shelter
    """Looks at what is posted."""
    scribe: Shelter
    """Writes exports; apart from the doorman, because a film takes its time."""

    def check_room(self) -> None:
        """Refuse another clip if the queue or the shelf is full."""
        waiting, kept = self.jobs.count()
        if waiting >= self.limits.max_waiting:
            raise HTTPException(
                429, f"{waiting} clips wait already; try again in a minute", {"Retry-After": "60"}
            )
        if kept >= self.limits.max_clips:
            raise HTTPException(409, f"{kept} clips are kept already; delete one first")

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
            # Deleted between the two questions.
            raise HTTPException(404, "no such clip; it may have been deleted") from None


@lru_cache(maxsize=8)
def load_analysis(folder: Path) -> Analysis:
    """Of a finished clip, whose analysis never changes."""
    return Analysis.load(folder)
