"""What people send: counted while it comes, and believed only after a look."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path, PureWindowsPath

import anyio

from densevidcap.data.text import one_line
from densevidcap.errors import ClipTooLargeError, CorpusError
from densevidcap.export.json_file import UNSOUND, from_dict, to_dict
from densevidcap.intake import parse_json
from densevidcap.studio.limits import StudioLimits
from densevidcap.types import DenseCaptions


class SlowError(Exception):
    """Somebody who sends next to nothing and keeps a place by it."""


class ManyCaptionsError(Exception):
    """More captions than any clip has."""


def clean_name(name: str) -> str:
    """The name of a file without the folders that its sender keeps it in, on one line."""
    return PureWindowsPath(one_line(name)).name or "clip"


async def receive(pieces: AsyncIterator[bytes], path: Path, limits: StudioLimits) -> None:
    """Write the pieces to a new file in a new folder; a ClipTooLargeError if they are too many, a
    SlowError if they do not come."""
    path.parent.mkdir(parents=True)
    async with await anyio.open_file(path, "xb") as file:
        async for piece in _count(pieces, limits.max_bytes, limits):
            await file.write(piece)


async def collect(pieces: AsyncIterator[bytes], limits: StudioLimits) -> bytes:
    """The pieces in memory, with the same errors."""
    return b"".join([piece async for piece in _count(pieces, limits.max_text, limits)])


async def _count(
    pieces: AsyncIterator[bytes], most_bytes: int, limits: StudioLimits
) -> AsyncIterator[bytes]:
    count, begun = 0, time.monotonic()
    while True:
        due = begun + limits.max_delay + count / limits.min_rate
        try:
            with anyio.fail_after(max(0.0, due - time.monotonic())):
                piece = await anext(pieces, None)
        except TimeoutError:
            raise SlowError from None
        if piece is None:
            return
        count += len(piece)
        if count > most_bytes:
            raise ClipTooLargeError(f"more than {most_bytes:,} bytes")
        yield piece


def count_captions(data: bytes) -> int:
    """At most so many as there are, without parsing, which takes long where they are many.

    One who writes the keys in another way is found out by `parse_captions`.
    """
    return data.count(b'"log_probability"')


def parse_captions(data: bytes, most: int) -> DenseCaptions:
    """Captions in JSON by an unknown hand, that can be sent out again."""
    try:
        content = parse_json(data, finite=True)
        if "captions" not in content:
            # As libraries keep it.
            content = content["result"]
        if len(content["captions"]) > most:
            raise ManyCaptionsError
        captions = from_dict(content)
        json.dumps(to_dict(captions), ensure_ascii=False, allow_nan=False).encode()
    except UNSOUND:
        raise CorpusError("not captions as densevidcap writes them; choose its .json") from None
    return captions
