"""WebDataset tar shards: `KEY.00.webp KEY.01.webp KEY.json` side by side, or `KEY.mp4`."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from threading import Lock

from densevidcap.data.clip import Clip, Extent
from densevidcap.data.limits import Limits
from densevidcap.data.pictures import SUFFIXES, PictureClip, natural_order
from densevidcap.errors import ClipError
from densevidcap.intake import check_plain

VIDEO_SUFFIXES = frozenset({".avi", ".gif", ".m4v", ".mkv", ".mov", ".mp4", ".mpg", ".webm"})


@dataclass(frozen=True)
class Shard:
    """Where each member's files lie. Reading needs no shared file handle."""

    path: Path
    members: Mapping[str, Mapping[str, Extent]]
    """Key to extension (`00.webp`, `json`) to bytes, in the shard's order."""

    def read(self, key: str, extension: str) -> bytes:
        """The bytes of one file of a member, such as its `json`."""
        try:
            return self.members[key][extension].read()
        except KeyError:
            raise ClipError(f"{self.path}: has no {key}.{extension}; check the name") from None


_indexing = Lock()


def open_shard(path: Path) -> Shard:
    """The shard's index, built once per process and again only if the file changes."""
    try:
        status = path.stat()
    except OSError as error:
        raise ClipError(f"{path}: {error.strerror}; check the path") from error
    with _indexing:
        return _index(path, status.st_mtime_ns, status.st_size)


_LONGEST_NAME = 4096
_LONGEST_EXTENSION = 16 * 2**10
"""Bytes of a header that only tells more of the next one: a long name, a time."""
_EXTENSIONS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_MANY_DIGITS = re.compile(rb"[0-9]{1000}")


class _BoundedInfo(tarfile.TarInfo):
    """A header within bounds of our own: tarfile believes sizes, and is slow on digits."""

    @classmethod
    def fromtarfile(cls, tar: tarfile.TarFile) -> _BoundedInfo:
        file = tar.fileobj
        assert file is not None
        start = file.tell()
        buffer = file.read(tarfile.BLOCKSIZE)
        try:
            header = cls.frombuf(buffer, tar.encoding or "utf-8", "surrogateescape")
        except tarfile.HeaderError:
            # The end, or a fault that tarfile knows how to name.
            header = None
        if header is not None:
            header.check()
            if header.type in _EXTENSIONS and _MANY_DIGITS.search(file.read(header.size)):
                raise tarfile.ReadError("a header of digits")
        file.seek(start)
        return super().fromtarfile(tar)

    def check(self) -> None:
        if self.size < 0:
            raise tarfile.ReadError("a size below 0")
        if self.type in _EXTENSIONS and self.size > _LONGEST_EXTENSION:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes")

    def _block(self, count: int) -> int:
        """Bytes in whole blocks. A size below 0 would lead tarfile round in circles."""
        if count < 0:
            raise tarfile.ReadError("a size below 0")
        return -(-count // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE


@lru_cache(maxsize=256)
def _index(path: Path, _modified: int, _size: int) -> Shard:
    members: dict[str, dict[str, Extent]] = {}
    try:
        check_plain(path)
        with tarfile.open(path, "r:", tarinfo=_BoundedInfo) as tar:
            for entry in tar:
                if len(entry.name) > _LONGEST_NAME:
                    raise tarfile.ReadError(f"a name of {len(entry.name):,} letters")
                if entry.isreg() and not entry.issparse():
                    key, extension = split_name(entry.name)
                    members.setdefault(key, {})[extension] = Extent(
                        path, entry.offset_data, entry.size
                    )
    except RecursionError:
        # Headers that only tell more of the next one, hundreds in a row.
        raise _unreadable(path, "headers without end") from None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except (tarfile.TarError, ValueError, OverflowError) as error:
        raise _unreadable(path, str(error)) from error
    return Shard(path, members)


def _unreadable(path: Path, reason: str) -> ClipError:
    return ClipError(
        f"{path}: cannot be read as a tar shard ({reason}); it must be whole and not compressed"
    )


def split_name(name: str) -> tuple[str, str]:
    """Key and extension by WebDataset's rule: split at the file name's first dot."""
    posix = PurePosixPath(name)
    stem, _, extension = posix.name.partition(".")
    return str(posix.with_name(stem) if stem else posix), extension


def open_member(path: Path, key: str, frame_rate: float, limits: Limits) -> Clip:
    """The clip of one member: its video if it has one, otherwise its images in name order."""
    name = f"{path}::{key}"
    files = open_shard(path).members.get(key)
    if files is None:
        raise ClipError(f"{name}: the shard has no such member; list them with: tar tf {path}")
    suffixes = {extension: PurePosixPath(f"_.{extension}").suffix.lower() for extension in files}
    for extension, suffix in suffixes.items():
        if suffix in VIDEO_SUFFIXES:
            from densevidcap.data.video import VideoClip

            return VideoClip(name, files[extension], limits)
    images = sorted((e for e, suffix in suffixes.items() if suffix in SUFFIXES), key=natural_order)
    if not images:
        raise ClipError(f"{name}: the member holds neither a video nor images")
    return PictureClip(name, tuple(files[extension] for extension in images), frame_rate, limits)
