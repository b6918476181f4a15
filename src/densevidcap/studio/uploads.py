"""What people send: counted while it comes, and believed only after a look."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path, PureWindowsPath

import anyio

from densevidcap.errors import ClipTooLargeError, CorpusError
from densevidcap.export.json_file import from_dict, to_dict
from densevidcap.export.lines import one_line
from densevidcap.intake import parse_json
from densevidcap.records import DenseCaptions


def clean_name(name: str) -> str:
    """The name of a file without the folders that its sender keeps it in, on one line."""
    return PureWindowsPath(one_line(name)).name or "clip"


async def receive(pieces: AsyncIterator[bytes], path: Path, most_bytes: int) -> None:
    """Write the pieces to a new file in a new folder; a ClipTooLargeError if they are too many."""
    path.parent.mkdir(parents=True)
    async with await anyio.open_file(path, "xb") as file:
        async for piece in _count(pieces, most_bytes):
            await file.write(piece)


async def collect(pieces: AsyncIterator[bytes], most_bytes: int) -> bytes:
    """The pieces in memory; a ClipTooLargeError if they are too many."""
    return b"".join([piece async for piece in _count(pieces, most_bytes)])


async def _count(pieces: AsyncIterator[bytes], most_bytes: int) -> AsyncIterator[bytes]:
    count = 0
    async for piece in pieces:
        count += len(piece)
        if count > most_bytes:
            raise ClipTooLargeError(f"more than {most_bytes:,} bytes")
        yield piece


def parse_captions(data: bytes) -> DenseCaptions:
    """Captions in JSON by an unknown hand, that can be sent out again."""
    try:
        captions = from_dict(parse_json(data, finite=True))
        json.dumps(to_dict(captions), ensure_ascii=False, allow_nan=False).encode()
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise CorpusError("not captions as densevidcap writes them; choose its .json") from None
    return captions
