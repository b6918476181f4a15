"""Where the files of a studio lie. No name that a client gives becomes part of a path.

Nothing is removed but folders whose ids the studio made up and wrote into its database before it
made them: what else lies in a data folder is somebody's own.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from densevidcap.data.pictures import SUFFIXES as IMAGE_SUFFIXES
from densevidcap.data.shards import VIDEO_SUFFIXES
from densevidcap.studio.jobs import holds_jobs
from densevidcap.studio.lock import StudioError

MARKER = ".densevidcap-studio"
"""The file by which a data folder is known as ours."""
_MARK = "This folder belongs to `densevidcap serve`, which keeps its clips here.\n"
_ID = re.compile(r"[\w-]+", re.ASCII)


@dataclass(frozen=True)
class ClipFiles:
    """The folder of one clip."""

    folder: Path
    elsewhere: Path | None = None
    """Of a library's clip that was not posted here, its own file."""

    @property
    def source(self) -> Path:
        """What was posted; of a clip that was deleted, where it would be."""
        return self.elsewhere or next(self.folder.glob("source*"), self.folder / "source")

    @property
    def film(self) -> Path:
        """The clip for browsers, where they do not play the source."""
        return self.folder / "film.mp4"

    @property
    def footage(self) -> Path:
        """What browsers play."""
        return self.film if self.film.exists() else self.source

    @property
    def picture(self) -> Path:
        """A small one, to know the clip by."""
        return self.folder / "picture.jpg"

    @property
    def sound(self) -> Path:
        """Its spectrogram; an empty file if there is nothing to hear."""
        return self.folder / "sound.png"

    @property
    def analysis(self) -> Path:
        return self.folder / "analysis"

    def name_source(self, name: str) -> Path:
        """Where to put a clip that its sender calls so: readers of clips go by known endings."""
        ending = PurePosixPath(name).suffix.lower()
        return self.folder / f"source{ending if ending in VIDEO_SUFFIXES | IMAGE_SUFFIXES else ''}"


@dataclass(frozen=True)
class DataFolder:
    """All that a studio keeps."""

    folder: Path

    @property
    def jobs(self) -> Path:
        return self.folder / "jobs.sqlite"

    def claim(self) -> None:
        """Make the folder a studio's own; a StudioError if it holds what is not a studio's."""
        marker = self.folder / MARKER
        if marker.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        # Studios of version 0.1 left no marker.
        if any(self.folder.iterdir()) and not holds_jobs(self.jobs):
            raise StudioError(
                f"{self.folder}: holds files that are not a studio's;"
                " name an empty or a new folder with --data"
            )
        marker.write_text(_MARK, encoding="utf-8")

    def clip(self, key: str) -> ClipFiles:
        """The files of a clip that is known by that id; ask `Jobs` first."""
        return ClipFiles(self.folder / "clips" / key)

    def export(self, key: str) -> Path:
        """A folder for a file on its way out."""
        return self.folder / "exports" / key

    def remove(self, key: str) -> None:
        """What a clip or an export of that id left; ask `Jobs` first."""
        if not _ID.fullmatch(key):
            raise ValueError(f"{key!r} is no id of ours")
        for folder in (self.clip(key).folder, self.export(key)):
            shutil.rmtree(folder, ignore_errors=True)
