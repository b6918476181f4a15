"""Where the files of a studio lie. No name that a client gives becomes part of a path."""

from __future__ import annotations

import shutil
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from densevidcap.data.images import SUFFIXES as IMAGE_SUFFIXES
from densevidcap.data.shards import VIDEO_SUFFIXES


@dataclass(frozen=True)
class ClipFiles:
    """The folder of one clip."""

    folder: Path

    @property
    def source(self) -> Path:
        """What was posted; of a clip that was deleted, where it would be."""
        return next(self.folder.glob("source*"), self.folder / "source")

    @property
    def film(self) -> Path:
        """The clip for browsers, where they do not play the source."""
        return self.folder / "film.mp4"

    @property
    def footage(self) -> Path:
        """What browsers play."""
        return self.film if self.film.exists() else self.source

    @property
    def analysis(self) -> Path:
        return self.folder / "analysis"

    def name_source(self, name: str) -> Path:
        """Where to put a clip that its sender calls so: readers of clips go by known endings."""
        ending = PurePosixPath(name).suffix.lower()
        return self.folder / f"source{ending if ending in VIDEO_SUFFIXES | IMAGE_SUFFIXES else ''}"

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class DataFolder:
    """All that a studio keeps."""

    folder: Path

    @property
    def jobs(self) -> Path:
        return self.folder / "jobs.sqlite"

    def clip(self, key: str) -> ClipFiles:
        """The files of a clip that is known by that id; ask `Jobs` first."""
        return ClipFiles(self.folder / "clips" / key)

    @property
    def exports(self) -> Path:
        """Files on their way out."""
        return self.folder / "exports"

    def sweep(self, known: Container[str]) -> None:
        """Remove what no job knows: uploads that broke off, clips deleted while in work."""
        shutil.rmtree(self.exports, ignore_errors=True)
        for folder in (self.folder / "clips").glob("*"):
            if folder.name not in known:
                ClipFiles(folder).remove()
