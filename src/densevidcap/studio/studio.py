"""What the routes share: the parts of one running studio, and what they refuse."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from anyio import CancelScope, Lock
from anyio.to_thread import run_sync
from fastapi import HTTPException

from densevidcap.data.text import one_line
from densevidcap.errors import CorpusError, DenseVidCapError, OutputError
from densevidcap.pipeline.analysis import FILE, Analysis
from densevidcap.pipeline.captions import choose_captions
from densevidcap.studio import sandbox
from densevidcap.studio.answers import Result
from densevidcap.studio.files import ClipFiles, DataFolder
from densevidcap.studio.jobs import Job, Jobs
from densevidcap.studio.limits import DAY, StudioLimits
from densevidcap.studio.places import Paths
from densevidcap.studio.sandbox import Sandbox
from densevidcap.studio.shelf import Shelf, find_files, is_there
from densevidcap.studio.supervisor import Supervisor
from densevidcap.types import DenseCaptions

T = TypeVar("T")

GONE = "no such clip; it may have been deleted"


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
    drawing: Sandbox
    """Draws small pictures and sound; apart from exports, because a page waits for them."""
    librarian: Sandbox
    """Searches the library."""
    exports: Paths
    streams: Paths
    readings: Paths
    shelf: Shelf | None = None
    """The library that this studio was opened on; else clips are strangers' and pass."""
    _arriving: set[str] = field(default_factory=set)
    """Clips that are being sent. They take disk space before they are in the queue."""
    _played: set[str] = field(default_factory=set)
    """Clips of a library that browsers can play, as they are or as films."""
    admitting: Lock = field(default_factory=Lock)
    """One clip after another is recognised, so that none is taken in twice."""

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

    @property
    def sandboxes(self) -> tuple[Sandbox, ...]:
        return self.probe, self.exporter, self.reader, self.drawing, self.librarian

    @property
    def room(self) -> tuple[int, int]:
        """How many clips may wait, and be kept."""
        return self.limits.max_waiting, self.limits.max_clips

    def recognise(self, identity: str) -> bool:
        """Whether a library has a clip of that content, or will; one that was deleted is restored,
        and one that failed is tried again."""
        shelf = self.need_shelf()
        job = self.jobs.find(identity)
        if job is not None and job.state in ("waiting", "working"):
            return True
        if shelf.holds(identity):
            _, place = shelf.find_source(identity)
            # A clip whose file is gone gets the one that was dropped.
            return is_there(place)
        if shelf.has_deleted(identity):
            refusing(shelf.restore, identity)
            return True
        return job is not None and job.state == "failed" and self.jobs.retry(identity)

    def adopt(self, key: str, identity: str) -> None:
        """A clip that came is now known by its content."""
        folder = self.data.clip(identity).folder
        self.jobs.drop_done(identity)
        self.jobs.let_pass(identity)
        self.data.remove(identity)
        self.data.clip(key).folder.rename(folder)

    def cancel(self, key: str) -> None:
        """Take a clip out of the queue, with all that was made of it, unless a library has it."""
        kept = self.shelf is not None and self.shelf.knows(key)
        state = self.jobs.remove(key, passing=not kept)
        if state is None:
            raise HTTPException(404, GONE)
        if kept:
            return
        if state == "working":
            # The worker may write more, until it notices and removes it once more.
            self.data.remove(key)
        else:
            self.let_go(key)

    def forget(self, key: str) -> None:
        """What was deleted from a library is gone for good, with a file that was dropped here."""
        shelf = self.need_shelf()
        if not shelf.has_deleted(key):
            raise HTTPException(404, "not among the clips that were deleted")
        refusing(shelf.forget, key)
        self.data.remove(key)
        self._played.discard(key)

    async def make_playable(self, key: str, files: ClipFiles) -> None:
        """Of what was captioned elsewhere nobody has looked whether browsers play it."""
        if key in self._played or files.film.exists():
            return
        limits = self.limits.decoding
        # Not behind all the small pictures that a page asks for.
        if not await self.probe.run(sandbox.check_played, files.source, limits):
            await self.exporter.run(sandbox.film, files.source, files.film, limits)
        self._played.add(key)

    def need_shelf(self) -> Shelf:
        if self.shelf is None:
            raise HTTPException(404, "this studio was opened without a library")
        return self.shelf

    def find(self, key: str) -> Job:
        job = self.jobs.find(key)
        if self.shelf is not None and (job is None or job.state == "done"):
            return self._find_in_library(self.shelf, key)
        if job is None:
            raise HTTPException(404, GONE)
        if job.state == "expired":
            days = self.limits.max_age / DAY
            raise HTTPException(410, f"clips are kept for {days:g} days only; post it again")
        return job

    @staticmethod
    def _find_in_library(shelf: Shelf, key: str) -> Job:
        try:
            if not shelf.holds(key):
                raise HTTPException(404, GONE)
            source, _ = shelf.find_source(key)
            made = shelf.library.place("clips", key).stat().st_mtime
        except (CorpusError, OSError):
            raise HTTPException(404, GONE) from None
        return Job(key, one_line(source.name), made, "done", "", 1.0, "", "", 0)

    def find_files(self, key: str) -> tuple[Job, ClipFiles]:
        """Of a clip that is done, whether or not what was found in it can still be read."""
        job, shelf = self.find(key), self.shelf
        if job.state != "done" and not (shelf is not None and shelf.holds(key)):
            reason = f"{job.name}: is {job.state}; it has no captions"
            raise HTTPException(409, reason if not job.message else job.message)
        return job, find_files(self.data, shelf, key) if shelf else self.data.clip(key)

    def find_done(self, key: str) -> Shown:
        (job, files), shelf = self.find_files(key), self.shelf
        try:
            return Shown(key, job.name, files, load_analysis(files.analysis), shelf)
        except DenseVidCapError:
            if shelf is not None:
                return Shown(key, job.name, files, None, shelf)
            if (files.analysis / FILE).exists():
                reason = f"{job.name}: captioned by another version of densevidcap; post it again"
                raise HTTPException(410, reason) from None
            # Deleted between the two questions.
            raise HTTPException(404, GONE) from None

    def find_moment(self, key: str) -> float | None:
        """Seconds at which the first sentence of a clip is seen best; None if nothing is said."""
        try:
            shelf = self.shelf
            said = self.find_done(key).choose() if shelf is None else shelf.library.captions(key)
        except (HTTPException, DenseVidCapError):
            return None
        best = next(iter(said), None)
        if best is None:
            return None
        seen = max(best.evidence, key=lambda each: each.probability, default=None)
        return (best.start + best.end) / 2 if seen is None else seen.time


@dataclass(frozen=True)
class Shown:
    """A clip that has captions."""

    key: str
    name: str
    files: ClipFiles
    analysis: Analysis | None
    """None in a library, of clips that were captioned elsewhere: then there is nothing to choose
    other sentences from, and no word has a map."""
    shelf: Shelf | None

    def choose(
        self, k: int | None = None, diversity: float | None = None, sure: float | None = None
    ) -> DenseCaptions:
        """The captions as asked for; those of a library with what people put right."""
        if self.shelf is None:
            assert self.analysis is not None
            return choose_captions(self.analysis, k, diversity, sure)
        library = self.shelf.library
        try:
            kept = library.captions(self.key, self.name)
            if (k, diversity, sure) == (None, None, None):
                return kept
            if self.find_analysis() is None:
                reason = f"{self.name}: look again at the clip to choose other sentences"
                raise HTTPException(409, reason)
            assert self.analysis is not None
            return library.put_right(self.key, choose_captions(self.analysis, k, diversity, sure))
        except CorpusError as error:
            raise HTTPException(409, str(error)) from None

    def find_analysis(self) -> Analysis | None:
        """None also if the captions are by another model than it is."""
        if self.shelf is None or self.analysis is None:
            return self.analysis
        said = self.shelf.library.read_entry(self.key).captions
        return self.analysis if said.model_version == self.analysis.model_version else None

    def describe(self, captions: DenseCaptions) -> Result:
        if self.shelf is None:
            return Result.of(captions, self.analysis)
        corrections = self.shelf.read_corrections(self.key)
        missing = not is_there(self.files.source) and not self.files.film.exists()
        return Result.of(captions, self.find_analysis(), corrections, missing)


def refusing(change: Callable[..., T], *arguments: object) -> T:
    """Of a library: why it cannot be changed is told to who asked."""
    try:
        return change(*arguments)
    except (CorpusError, OutputError) as error:
        raise HTTPException(409, str(error)) from None


@lru_cache(maxsize=8)
def _load(folder: Path, _: int) -> Analysis:
    return Analysis.load(folder)


def load_analysis(folder: Path) -> Analysis:
    """Of a finished clip; read again only if somebody looked at the clip again."""
    try:
        now = (folder / FILE).stat().st_mtime_ns
    except OSError:
        now = 0
    return _load(folder, now)
