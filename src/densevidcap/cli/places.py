"""Places of a frame for people to read: its thirds, in words or as arrows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from densevidcap.records import Box

DOWN, ACROSS = ("top", "middle", "bottom"), ("left", "", "right")
ARROWS = ("↖↑↗", "←·→", "↙↓↘")
STOPS = 8
"""Arrows that sketch a way at most."""


def name_place(box: Box) -> str:
    """Where the box's centre lies: "top left", "middle", "middle right", ..."""
    row, column = _find_third(box)
    return f"{DOWN[row]} {ACROSS[column]}".strip()


def point_to(box: Box) -> str:
    """The same as an arrow from the frame's middle, or a dot."""
    row, column = _find_third(box)
    return ARROWS[row][column]


def sketch_way(boxes: Sequence[Box]) -> str:
    """Where a region-sequence is from start to end, in a few arrows."""
    from densevidcap.drawing.layout import choose_evenly

    return "".join(point_to(boxes[stop]) for stop in choose_evenly(len(boxes), STOPS))


def _find_third(box: Box) -> tuple[int, int]:
    """(row, column) of the box's centre."""
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    return min(2, int(3 * y)), min(2, int(3 * x))
