"""Where bytes lie: a whole file, or the stretch of a tar file that one member takes."""

from __future__ import annotations

from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path

from densevidcap.errors import ClipError
from densevidcap.intake import check_plain


@dataclass(frozen=True)
class Extent:
    """A stretch of a file. Opened anew for each use, so threads and processes can share it."""

    path: Path
    offset: int = 0
    size: int | None = None
    """Bytes; None up to the end of the file."""

    def length(self) -> int:
        try:
            return self.path.stat().st_size - self.offset if self.size is None else self.size
        except OSError as error:
            raise self._unreadable(error) from error

    def read(self, most: int | None = None) -> bytes:
        """All of it, or as much as is asked for from its start."""
        try:
            check_plain(self.path)
            with self.path.open("rb") as file:
                # What is not there is not read: room for it would be made first.
                there = file.seek(0, SEEK_END) - self.offset
                size = there if self.size is None else self.size
                size = size if most is None else min(size, most)
                file.seek(self.offset)
                data = file.read(size) if size <= there else b""
        except OSError as error:
            raise self._unreadable(error) from error
        if len(data) < size:
            raise ClipError(f"{self.path}: ends too early; copy or download it again")
        return data

    def _unreadable(self, error: OSError) -> ClipError:
        return ClipError(f"{self.path}: {error.strerror}; check the file")

    @property
    def url(self) -> str:
        """The stretch in FFmpeg's words; names with colons are safe behind a protocol."""
        file = f"file:{self.path.absolute()}"
        if self.size is None:
            return file
        return f"subfile,,start,{self.offset},end,{self.offset + self.size},,:{file}"
