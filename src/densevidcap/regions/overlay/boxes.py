"""All region-sequences' boxes on one picture, each with its number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from densevidcap.drawing.boxes import corners, line_width, outline
from densevidcap.drawing.colours import PAPER, colour_of
from densevidcap.drawing.lettering import letter
from densevidcap.drawing.motion import pass_evenly
from densevidcap.records import Box, RegionSequence

TAB = 1 / 19
"""Height of a box's number as a share of the picture's shorter side."""

NESTED = 0.7
"""Most of a box that room for the others' lines may take."""


def box_at(sequence: RegionSequence, time: float) -> Box:
    """Where a sequence is at any time, in even passage between the frames that were looked at."""
    edges = np.array([(box.left, box.top, box.right, box.bottom) for box in sequence.boxes])
    # Rounding may carry an edge past the frame's.
    passing = np.clip(pass_evenly(np.array(sequence.times), edges, time), 0, 1)
    return Box(*passing.tolist())


def draw_boxes(picture: Image.Image, boxes: Sequence[Box]) -> None:
    """Each box in its colour, a line further in than the one before, its number on its top edge.

    So boxes in the same place lie inside each other, and their numbers side by side.
    """
    shorter = min(min(b.right - b.left, b.bottom - b.top) for b in boxes) * min(picture.size)
    lane = min(line_width(picture.size) + 1, NESTED / 2 * shorter / len(boxes))
    for number, box in enumerate(boxes):
        outline(picture, box, colour_of(number).rgb, inset=number * lane)
    side = max(18, round(min(picture.size) * TAB))
    for number, box in enumerate(boxes):
        left, top, right, _ = corners(box, picture.size, inset=number * lane)
        room = max(1, int((right - left) // side))
        tag(picture, left + number % room * side, top, side, number)


def tag(picture: Image.Image, left: float, top: float, side: int, number: int) -> None:
    """A square of the sequence's colour with its number, which counts from 1 for people."""
    draw = ImageDraw.Draw(picture)
    draw.rectangle((left, top, left + side - 1, top + side - 1), fill=colour_of(number).rgb)
    middle = left + side / 2, top + side / 2
    draw.text(middle, str(number + 1), PAPER, letter(side * 0.75), anchor="mm")
