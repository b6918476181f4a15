"""The library that a studio was opened on."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock

from densevidcap.errors import CorpusError, OutputError
from densevidcap.library.corrected import MANIFEST, Lessons, write_lessons
from densevidcap.library.store import BUSY, SOURCES, Correction, Library, Source
from densevidcap.studio.files import ClipFiles, DataFolder
from densevidcap.types import DenseCaptions

IDENTITY = re.compile(r"[0-9a-f]{32}")
"""By which a library knows its clips."""
PATIENCE = 5.0
"""Seconds to wait for another process that writes to the library."""
TRY = 0.05
"""Seconds between two tries."""


class Shelf:
    """What routes ask of it. Others may write to the library at any time, so nothing is kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._turn, self._lock = Lock(), Lock()
        self._changes = 0
        self._seen: tuple[int, int] | None = None
        self._sources: dict[str, list[Source]] = {}

    @property
    def library(self) -> Library:
        return Library(self.folder)

    @property
    def name(self) -> str:
        return self.folder.name.removesuffix(".library") or "library"

    @property
    def revision(self) -> str:
        """Changes whenever a clip was added, by whomever, or something was put right here."""
        return "/".join(map(str, (*self._look(), self._changes)))

    def holds(self, identity: str) -> bool:
        """No other text than an identity is ever part of a path."""
        return IDENTITY.fullmatch(identity) is not None and self.library.is_done(identity)

    def has_deleted(self, identity: str) -> bool:
        """Whether it can be restored."""
        return IDENTITY.fullmatch(identity) is not None and self.library.is_removed(identity)

    def knows(self, identity: str) -> bool:
        """Whether its files must stay, whatever becomes of a job."""
        return self.holds(identity) or self.has_deleted(identity)

    def find_source(self, identity: str) -> tuple[Source, str]:
        """The clip's file and where it is, also of one that was taken out; a CorpusError if it is
        not known."""
        library, sources = self.library, self._list_sources(identity)
        places = [(source, library.locate(source)) for source in reversed(sources)]
        there = [each for each in places if is_there(each[1])]
        if not places:
            raise CorpusError(f"{identity}: no clip of {self.folder}")
        return (there or places)[0]

    def read_corrections(self, identity: str) -> list[Correction]:
        return self.library.read_corrections(identity)

    # Changes

    def correct(self, identity: str, said: str, text: str | None, captions: DenseCaptions) -> None:
        with self.writing() as library:
            library.correct_clip(identity, said, text, captions=captions)

    def uncorrect(self, identity: str, said: str) -> bool:
        with self.writing() as library:
            return library.uncorrect(identity, said)

    def remove(self, identity: str) -> None:
        with self.writing() as library:
            library.remove(identity)

    def restore(self, identity: str) -> None:
        with self.writing() as library:
            library.restore(identity)

    def forget(self, identity: str) -> None:
        with self.writing() as library:
            library.forget(identity)

    def write_lessons(self) -> Lessons:
        with self.writing() as library:
            return write_lessons(library, self.folder.absolute() / "export" / MANIFEST)

    @contextmanager
    def writing(self, patience: float = PATIENCE) -> Iterator[Library]:
        """Alone; an OutputError if another process keeps writing for so many seconds."""
        library, deadline = self.library, time.monotonic() + patience
        with self._turn, ExitStack() as stack:
            while True:
                try:
                    stack.enter_context(library.writing_alone())
                    break
                except OutputError as error:
                    if BUSY not in str(error) or time.monotonic() > deadline:
                        raise
                    time.sleep(TRY)
            yield library
            self._changes += 1

    def _look(self) -> tuple[int, int]:
        try:
            status = (self.folder / SOURCES).stat()
        except OSError:
            return (0, 0)
        return status.st_size, status.st_mtime_ns

    def _list_sources(self, identity: str) -> Sequence[Source]:
        """In the order in which they were noted; read again only when they have changed."""
        with self._lock:
            if (now := self._look()) != self._seen:
                self._sources = defaultdict(list)
                for source in self.library.sources.values():
                    if source.identity is not None:
                        self._sources[source.identity].append(source)
                self._seen = now
            return self._sources.get(identity, [])


def find_files(data: DataFolder, shelf: Shelf, key: str) -> ClipFiles:
    """What a studio has made of a clip; the clip itself lies there if it was dropped, or else where
    it is."""
    files = data.clip(key)
    if next(files.folder.glob("source*"), None) is not None:
        return files
    try:
        _, place = shelf.find_source(key)
    except CorpusError:
        return files
    return ClipFiles(files.folder, Path(place))


def is_there(place: str | Path) -> bool:
    """Whether a clip's file is; of a shard's member, whether its shard is."""
    place = str(place)
    return Path(place).exists() or Path(place.rpartition("::")[0] or place).exists()
