"""The colours of pages and of what is drawn on clips."""

from __future__ import annotations

from typing import NamedTuple

RGB = tuple[int, int, int]

PAPER: RGB = (22, 20, 32)
INK: RGB = (240, 238, 245)
FAINT: RGB = (160, 156, 175)
RIM: RGB = (20, 20, 20)
"""Around lines, so that they are seen on anything."""


class Colour(NamedTuple):
    name: str
    rgb: RGB


PALETTE = (
    Colour("orange", (230, 159, 0)),
    Colour("sky blue", (86, 180, 233)),
    Colour("green", (0, 178, 130)),
    Colour("yellow", (240, 228, 66)),
    Colour("pink", (222, 135, 180)),
    Colour("red", (229, 92, 20)),
    Colour("blue", (66, 126, 230)),
    Colour("white", (240, 240, 240)),
    Colour("magenta", (204, 84, 180)),
    Colour("lime", (60, 252, 132)),
    Colour("olive", (132, 156, 84)),
    Colour("pale green", (180, 228, 180)),
)
"""After Okabe and Ito: colours that colour-blind eyes tell apart, lightened for dark paper;
the last four are those of a grid that lie farthest from all before them, to all eyes."""


def colour_of(number: int) -> Colour:
    """The colour of the thing of that number, from 0 on; after the last one they come again."""
    return PALETTE[number % len(PALETTE)]


def mix(start: RGB, end: RGB, share: float) -> RGB:
    """The colour on the way from `start` (share 0) to `end` (share 1)."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(start, end, strict=True))
    return red, green, blue
