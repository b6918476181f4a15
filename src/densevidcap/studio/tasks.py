"""What is done with posted clips outside the server: see `shelter`."""

from __future__ import annotations

from pathlib import Path

from densevidcap.data.clip import open_clip
from densevidcap.data.limits import Limits
from densevidcap.errors import ClipTooLargeError
from densevidcap.export import save
from densevidcap.export.report.footage import EMBEDDED
from densevidcap.records import DenseCaptions
from densevidcap.studio.answers import Result
from densevidcap.studio.uploads import parse_captions


def inspect(source: Path, limits: Limits) -> None:
    """Raise a ClipError unless it can be read: headers, and one frame."""
    _ = open_clip(source, limits=limits).info


def export(
    captions: DenseCaptions, source: Path, footage: Path, kind: str, path: Path, limits: Limits
) -> None:
    """Write the captions in that format."""
    # A report travels alone, so it holds the video; what browsers play may be smaller.
    shown = footage if kind == "html" else source
    if kind == "html" and footage.stat().st_size > EMBEDDED:
        raise ClipTooLargeError("too large to be part of a page; take the mp4 instead")
    save(captions, path, kind, open_clip(shown, limits=limits))


def read(data: bytes, most: int) -> bytes:
    """Captions made earlier as the answer to whoever sent them: see `parse_captions`."""
    return Result.of(parse_captions(data, most)).model_dump_json().encode()
