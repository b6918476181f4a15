"""The whole clip under a word's responses, each picture at its own time."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from PIL import Image

from densevidcap.artefacts import replacing
from densevidcap.data.clip import Clip, Size
from densevidcap.lexical.responses.lettering import PAPER, draw_title
from densevidcap.lexical.responses.overlay import ResponseMap

LARGEST = 960
"""Pixels of the longer side; larger clips are scaled down."""
SMALLEST = 480
TICK = Fraction(1, 90_000)
"""Seconds: fine enough for the exact times of every usual frame rate."""


def write_video(
    response: ResponseMap, clip: Clip, path: Path, advance: Callable[[], None] = lambda: None
) -> None:
    """An H.264 video; between the frames that were looked at, responses pass evenly."""
    width, height = _fit((clip.info.width, clip.info.height))
    band = max(40, height // 12 // 2 * 2)
    title = draw_title(response, width, band)
    last = -1
    with replacing(path) as temporary, av.open(str(temporary), "w", format="mp4") as container:
        stream = container.add_stream("libx264", options={"crf": "20", "preset": "fast"})
        stream.width, stream.height, stream.pix_fmt = width, height + band, "yuv420p"
        stream.codec_context.time_base = TICK
        for seconds, image in clip.stream((width, height)):
            page = Image.new("RGB", (width, height + band), PAPER)
            page.paste(title, (0, 0))
            page.paste(response.paint(image, response.at(seconds)), (0, band))
            frame = av.VideoFrame.from_ndarray(np.asarray(page), format="rgb24")
            # Two pictures at one time would be refused: the second comes a tick later.
            last = max(round(seconds / TICK), last + 1)
            frame.pts, frame.time_base = last, TICK
            container.mux(stream.encode(frame))
            advance()
        container.mux(stream.encode())


def _fit(size: Size) -> Size:
    """A size of the same shape within limits, even as H.264 wants it."""
    scale = min(LARGEST / max(size), max(1.0, SMALLEST / max(size)))
    width, height = (max(2, round(side * scale / 2) * 2) for side in size)
    return width, height
