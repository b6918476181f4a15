"""What stands below the moving clip: each sequence's colour, number and words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from densevidcap.drawing.colours import INK, PAPER, mix
from densevidcap.drawing.lettering import letter
from densevidcap.drawing.motion import pass_evenly
from densevidcap.regions.overlay.boxes import tag
from densevidcap.regions.words import WordedSequence

ROWS = 3
"""Before a second column is begun, if there is room for it."""
COLUMN = 14
"""Width of a column in heights of a line."""
DARKEST = mix(PAPER, INK, 0.4)
"""Of a word that is not to be seen now."""


class Legend:
    """One line for each sequence; a word is the brighter, the more its region now shows it.

    Words are brightest at the highest probability that any of them has anywhere.
    """

    def __init__(self, worded: Sequence[WordedSequence], width: int) -> None:
        self.worded = worded
        self.width = width
        self.line = min(34, max(26, width // 28))
        self.columns = min(max(1, width // (COLUMN * self.line)), -(-len(worded) // ROWS))
        self.rows = -(-len(worded) // self.columns)
        # H.264 wants even sizes.
        self.height = (self.rows + 1) * self.line // 2 * 2
        highest = (word.probability for each in worded for word in each.words)
        self._full = max(highest, default=1.0) or 1.0

    def draw(self, time: float) -> Image.Image:
        page = Image.new("RGB", (self.width, self.height), PAPER)
        for number in range(len(self.worded)):
            column, row = divmod(number, self.rows)
            left, right = (edge * self.width // self.columns for edge in (column, column + 1))
            top = self.line // 2 + row * self.line
            self._write(page, number, (left + self.line // 2, top, right), time)
        return page

    def _write(
        self, page: Image.Image, number: int, place: tuple[int, int, int], time: float
    ) -> None:
        """One line in (left, top, right); words that have no room are left out."""
        left, top, right = place
        side = round(self.line * 0.72)
        tag(page, left, top + (self.line - side) // 2, side, number)
        draw, font = ImageDraw.Draw(page), letter(self.line * 0.58)
        x: float = left + self.line
        worded = self.worded[number]
        for word in worded.words:
            end = x + draw.textlength(word.word, font)
            if end > right - self.line / 4:
                break
            responses = np.array(word.responses)[:, None]
            now = float(pass_evenly(np.array(worded.sequence.times), responses, time)[0])
            # The root, because half as probable should not look half lost.
            ink = mix(DARKEST, INK, (now / self._full) ** 0.5)
            draw.text((x, top + self.line / 2), word.word, ink, font, anchor="lm")
            x = end + self.line / 2
