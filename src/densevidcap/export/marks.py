"""How a caption is told from others in pictures: the number of its rank, the colour of its lane."""

from __future__ import annotations

from PIL import Image, ImageDraw

from densevidcap.drawing.boxes import corners, line_width, outline
from densevidcap.drawing.colours import PAPER, colour_of
from densevidcap.drawing.lettering import letter
from densevidcap.records import Box


def mark(
    picture: Image.Image, corner: tuple[float, float], height: int, rank: int, lane: int
) -> None:
    """The caption's number, which counts from 1 for people, in a patch of its colour."""
    left, top = corner
    text, font = str(rank + 1), letter(height * 0.75)
    right, bottom = left + _width_of(rank, height) - 1, top + height - 1
    draw = ImageDraw.Draw(picture)
    draw.rectangle((left, top, right, bottom), fill=colour_of(lane).rgb)
    draw.text(((left + right) / 2, (top + bottom) / 2), text, PAPER, font, anchor="mm")


def mark_box(picture: Image.Image, box: Box, rank: int, lane: int) -> None:
    """The box with its number on its top edge.

    Each lane's boxes are a line further in and their numbers further right than those of the lane
    before, so that boxes in the same place stay apart.
    """
    left, top, right, bottom = corners(box, picture.size)
    # Never so far in that nothing is left of the box.
    inset = min(lane * (line_width(picture.size) + 1), (right - left) / 3, (bottom - top) / 3)
    outline(picture, box, colour_of(lane).rgb, inset)
    height = max(18, round(min(picture.size) / 19))
    width = _width_of(rank, height)
    slots = max(1, int((right - left - 2 * inset) // width))
    mark(picture, (left + inset + lane % slots * width, top + inset), height, rank, lane)


def _width_of(rank: int, height: int) -> int:
    return max(height, round(height * (0.5 + 0.45 * len(str(rank + 1)))))
