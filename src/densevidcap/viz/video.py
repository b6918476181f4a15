"""Pictures as an H.264 video, each at its own time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from PIL import Image

from densevidcap.data.clip import Size
from densevidcap.files import replacing

LARGEST = 960
"""Pixels of the longer side; larger clips are scaled down."""
SMALLEST = 480
TICK = Fraction(1, 90_000)
"""Seconds: fine enough for the exact times of every usual frame rate."""
_LASTING = 0.2
"""Seconds from which on the last picture is shown again at the end, so that it stays that long."""
_FRAME = 0.04
"""Seconds of that picture."""


def fit_video(shape: Size) -> Size:
    """A size of the same shape within limits, even as H.264 wants it."""
    scale = min(LARGEST / max(shape), max(1.0, SMALLEST / max(shape)))
    width, height = (max(2, round(side * scale / 2) * 2) for side in shape)
    return width, height


def write_video(
    path: Path,
    pictures: Iterable[tuple[float, Image.Image]],
    size: Size,
    end: float,
    advance: Callable[[], None] = lambda: None,
) -> None:
    """Write (seconds, picture) of that even size in time order; `advance` is called after each.

    A picture stays until the next one comes, the last one until the `end`.
    """
    last, seconds, picture = -1, end, None
    with replacing(path) as temporary, av.open(str(temporary), "w", format="mp4") as container:
        stream = container.add_stream("libx264", options={"crf": "20", "preset": "fast"})
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = TICK

        def show(seconds: float, picture: Image.Image) -> None:
            nonlocal last
            frame = av.VideoFrame.from_ndarray(np.asarray(picture), format="rgb24")
            # Two pictures at one time would be refused: the second comes a tick later.
            last = max(round(seconds / TICK), last + 1)
            frame.pts, frame.time_base = last, TICK
            container.mux(stream.encode(frame))

        for seconds, picture in pictures:
            show(seconds, picture)
            advance()
        if picture is not None and end - seconds > _LASTING:
            show(end - _FRAME, picture)
        container.mux(stream.encode())
