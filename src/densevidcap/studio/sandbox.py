"""What is done with posted clips outside the server: see `shelter`."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from base64 import b64decode
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import numpy as np
from PIL import Image

from densevidcap.data.clip import open_clip
from densevidcap.data.limits import Limits
from densevidcap.data.video import VideoClip
from densevidcap.errors import ClipError, ClipTooLargeError
from densevidcap.export import report, save
from densevidcap.export.formats import FORMATS
from densevidcap.export.report.footage import EMBEDDED, film_clip, is_played
from densevidcap.files import replacing
from densevidcap.library.identity import identify
from densevidcap.studio.answers import Result
from densevidcap.studio.uploads import parse_captions
from densevidcap.types import DenseCaptions
from densevidcap.viz.canvas import fit

PICTURE = 480
"""Pixels of a small picture's longer side."""


def die_with_parent() -> None:
    """End this process as soon as its parent has ended."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


T = TypeVar("T")


class Sandbox:
    """One process, one task at a time; when it dies or takes too long, the next task gets a new
    one. A task that is cancelled ends with its process."""

    def __init__(self, most_seconds: float) -> None:
        self._most_seconds = most_seconds
        self._pool: ProcessPoolExecutor | None = None
        # A process that dies takes all tasks given to it along: so it never has a second one.
        self._turn = asyncio.Lock()

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """The function's result or its error; a ClipError if the process did not survive it."""
        async with self._turn:
            try:
                task = asyncio.wrap_future(self._submit(function, *arguments))
            except OSError:
                self.close()
                raise
            try:
                return await asyncio.wait_for(task, self._most_seconds)
            except BrokenProcessPool:
                self.close()
                raise ClipError("cannot be decoded; convert it, for example with ffmpeg") from None
            except asyncio.TimeoutError:
                self.close()
                raise ClipError(
                    f"takes longer than {self._most_seconds:g} seconds to read; cut or shrink it"
                ) from None
            except asyncio.CancelledError:
                self.close()
                raise

    def _submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        # Not earlier: where no process can be made, the next task shall try again.
        self._pool = self._pool or self._build()
        try:
            return self._pool.submit(function, *arguments)
        except BrokenProcessPool:
            # Somebody killed it while it had nothing to do.
            self.close()
            self._pool = self._build()
            return self._pool.submit(function, *arguments)

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        # A pool waits for its task at exit, however long that takes; a process can be ended.
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(cancel_futures=True)

    @staticmethod
    def _build() -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(1, mp_context=context, initializer=die_with_parent)


def inspect(source: Path, limits: Limits) -> str:
    """Which clip it is; a ClipError unless it can be read: headers, and one frame."""
    clip = open_clip(source, limits=limits)
    _ = clip.info
    return identify(clip)


def check_played(source: Path, limits: Limits) -> bool:
    """Whether browsers play the clip's own file."""
    clip = open_clip(source, limits=limits)
    return isinstance(clip, VideoClip) and is_played(clip)


def film(source: Path, path: Path, limits: Limits) -> None:
    """Write a film for browsers."""
    with replacing(path) as temporary:
        film_clip(open_clip(source, limits=limits), temporary, lambda: None)


def draw_picture(source: Path, time: float | None, limits: Limits) -> bytes:
    """A small JPEG of that time, or of a third of the clip, which is seldom a title or black."""
    clip = open_clip(source, limits=limits)
    times = clip.times()
    wanted = float(times[len(times) // 3]) if time is None else time
    size = fit((clip.info.width, clip.info.height), PICTURE)
    picked = next(iter(clip.pick([int(np.abs(times - wanted).argmin())], size)), None)
    if picked is None:
        raise ClipError(f"{source}: no frame can be decoded")
    stream = BytesIO()
    Image.fromarray(picked.image).save(stream, "JPEG", quality=82)
    return stream.getvalue()


def draw_sound(source: Path, limits: Limits) -> bytes:
    """A spectrogram as PNG; nothing where there is nothing to hear."""
    url = report.draw_sound(open_clip(source, limits=limits))
    return b"" if url is None else b64decode(url.partition(",")[2])


def export(
    captions: DenseCaptions, source: Path, footage: Path, kind: str, path: Path, limits: Limits
) -> None:
    """Write the captions in that format."""
    if FORMATS[kind].needs == "captions":
        save(captions, path, kind)
        return
    # A report travels alone, so it holds the video; what browsers play may be smaller.
    shown = footage if kind == "html" else source
    if kind == "html" and footage.stat().st_size > EMBEDDED:
        raise ClipTooLargeError("too large to be part of a page; take the mp4 instead")
    save(captions, path, kind, open_clip(shown, limits=limits))


def read(data: bytes, most: int) -> bytes:
    """Captions made earlier as the answer to whoever sent them: see `parse_captions`."""
    return Result.of(parse_captions(data, most)).model_dump_json().encode()
