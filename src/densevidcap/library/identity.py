"""Which clip it is, by what it holds: the same one under another name, in another folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from densevidcap.data.clip import Clip, Extent
from densevidcap.data.pictures import PictureClip
from densevidcap.data.video import VideoClip
from densevidcap.errors import ClipError

PIECE = 1 << 20


def identify(clip: Clip) -> str:
    """32 hexadecimal digits that follow from the bytes of a clip's files alone.

    Of pictures their order counts too, but no name does.
    """
    digest = hashlib.blake2b(digest_size=16)
    for extent in _list_extents(clip):
        # Lengths too, so that no two lists of pictures read the same.
        digest.update(extent.length().to_bytes(8, "big"))
        for piece in _read(extent):
            digest.update(piece)
    return digest.hexdigest()


def stamp(clip: Clip) -> str:
    """Changes whenever somebody writes to the clip's files: their sizes and times.

    Where it is the same, so is the identity, and nothing has to be read.
    """
    extents = _list_extents(clip)
    digest = hashlib.blake2b(digest_size=8)
    for extent in extents:
        try:
            status = extent.path.stat()
        except OSError as error:
            raise ClipError(f"{extent.path}: {error.strerror}; check the file") from error
        said = f"{len(extents)} {extent.offset} {extent.size} {status.st_size} {status.st_mtime_ns}"
        digest.update(f"{said} {extent.path.name}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _list_extents(clip: Clip) -> Sequence[Extent]:
    if isinstance(clip, VideoClip):
        return [clip.extent]
    if isinstance(clip, PictureClip):
        return clip.pictures
    raise ClipError(
        f"{clip.name}: holds features, which libraries do not keep; caption it without --library"
    )


def _read(extent: Extent) -> Iterator[bytes]:
    left = extent.length()
    try:
        with extent.path.open("rb") as file:
            file.seek(extent.offset)
            while left and (piece := file.read(min(PIECE, left))):
                left -= len(piece)
                yield piece
    except OSError as error:
        raise ClipError(f"{extent.path}: {error.strerror}; check the file") from error
