"""Where bytes lie: a whole file, or the stretch of a tar file that one member takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from densevidcap.errors import ClipError


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

    def read(self) -> bytes:
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                data = file.read() if self.size is None else file.read(self.size)
        except OSError as error:
            raise self._unreadable(error) from error
        if self.size is not None and len(data) < self.size:
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
