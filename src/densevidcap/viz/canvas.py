"""What all pictures share: letters, boxes, sizes, and what happens between frames."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from densevidcap.data.clip import Size
from densevidcap.data.text import tokenise
from densevidcap.types import Box, TimeArray
from densevidcap.viz.colours import INK, RGB, RIM

Letters = ImageFont.FreeTypeFont | ImageFont.ImageFont


@lru_cache(maxsize=32)
def letter(size: float) -> Letters:
    """The letters that come with Pillow, so that every machine draws the same."""
    return ImageFont.load_default(size=size)


def wrap(text: str, font: Letters, room: float) -> list[str]:
    """Lines of at most `room` pixels; only a word that is longer than that is broken."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".lstrip()
        if font.getlength(longer) <= room:
            lines[-1] = longer
            continue
        if lines[-1]:
            lines.append("")
        for character in word:
            if font.getlength(lines[-1] + character) > room:
                lines.append("")
            lines[-1] += character
    return lines


def write_lines(
    page: Image.Image,
    corner: tuple[int, int],
    lines: Sequence[str],
    step: int,
    font: Letters,
    ink: RGB,
    bright: Collection[str] = (),
) -> None:
    """One below the other, `step` pixels apart, in that ink but for words that are to be bright."""
    draw, (left, top) = ImageDraw.Draw(page), corner
    for row, line in enumerate(lines):
        middle, begun = top + row * step + step / 2, ""
        for word in line.split(" "):
            drawn = INK if any(each in bright for each in tokenise(word)) else ink
            draw.text((left + font.getlength(begun), middle), word, drawn, font, anchor="lm")
            begun += f"{word} "


Corners = tuple[float, float, float, float]


def line_width(size: Size) -> int:
    """Pixels of a line that suits a picture of this size."""
    return max(2, round(max(size) / 220))


def corners(box: Box, size: Size, inset: float = 0) -> Corners:
    """(left, top, right, bottom) in pixels, each edge moved inwards by `inset`.

    In the thinnest of pictures a box still has room for its rim on both sides.
    """
    width, height = size
    left, top = box.left * width + inset, box.top * height + inset
    right, bottom = box.right * width - 1 - inset, box.bottom * height - 1 - inset
    return left, top, max(right, left + 3), max(bottom, top + 3)


def outline(picture: Image.Image, box: Box, colour: RGB, inset: float = 0) -> None:
    """A line with a dark rim, to be seen on anything."""
    left, top, right, bottom = corners(box, picture.size, inset)
    line = line_width(picture.size)
    draw = ImageDraw.Draw(picture)
    draw.rectangle((left, top, right, bottom), outline=RIM, width=line + 2)
    draw.rectangle((left + 1, top + 1, right - 1, bottom - 1), outline=colour, width=line)


def fit(shape: Size, longer: int) -> Size:
    """A size of the same shape whose longer side has that many pixels."""
    width, height = (max(1, round(side * longer / max(shape))) for side in shape)
    return width, height


def choose_evenly(count: int, most: int) -> list[int]:
    """Indices of at most `most` of `count` frames, evenly spread, the first and last among them."""
    return [int(index) for index in np.linspace(0, count - 1, min(count, most)).round()]


FloatValues = npt.NDArray[np.floating]


def lerp(times: TimeArray, values: FloatValues, time: float) -> FloatValues:
    """(N,): (T, N) values of frames at times (T,), in even passage from one frame to the next.

    Before the first frame and after the last one their values hold.
    """
    after = int(np.searchsorted(times, time))
    before, after = max(0, after - 1), min(after, len(times) - 1)
    span = times[after] - times[before]
    share = np.clip((time - times[before]) / span, 0, 1) if span > 0 else 0.0
    return np.asarray(values[before] * (1 - share) + values[after] * share)


def lerp_box(times: TimeArray, boxes: Sequence[Box], time: float) -> Box:
    """The box at any time, in even passage between the frames that were looked at."""
    passing = lerp(times, np.array([astuple(box) for box in boxes]), time)
    # Rounding may carry an edge past the frame's, and the edges of a thin box onto each other.
    near = np.clip(passing[:2], 0, np.nextafter(1, 0))
    far = np.clip(passing[2:], np.nextafter(near, 1), 1)
    return Box(*near.tolist(), *far.tolist())
