"""Boxes on pictures."""

from __future__ import annotations

from PIL import Image, ImageDraw

from densevidcap.data.clip import Size
from densevidcap.drawing.colours import RGB, RIM
from densevidcap.records import Box

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
