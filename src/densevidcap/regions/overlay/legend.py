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

NARROWEST = 420
"""Pixels of a column."""
ROWS = 5
"""Before a second column is begun, if there is room for it."""
LINE = 28
DARKEST = mix(PAPER, INK, 0.4)
"""Of a word that is not to be seen now."""


class Legend:
    """One line for each sequence; a word is the brighter, the better its region shows it now."""

    def __init__(self, worded: Sequence[WordedSequence], width: int) -> None:
        self.worded = worded
        self.width = width
        self.columns = min(max(1, width // NARROWEST), -(-len(worded) // ROWS))
        self.rows = -(-len(worded) // self.columns)
        self.height = (self.rows + 1) * LINE // 2 * 2

    def draw(self, time: float) -> Image.Image:
        page = Image.new("RGB", (self.width, self.height), PAPER)
        for number in range(len(self.worded)):
            column, row = divmod(number, self.rows)
            left = column * self.width // self.columns + LINE // 2
            right = (column + 1) * self.width // self.columns - LINE // 4
            self._write(page, number, (left, LINE // 2 + row * LINE, right), time)
        return page

    def _write(
        self, page: Image.Image, number: int, place: tuple[int, int, int], time: float
    ) -> None:
        """One line in (left, top, right); words that have no room are left out."""
        left, top, right = place
        side = round(LINE * 0.72)
        tag(page, left, top + (LINE - side) / 2, side, number, letter(side * 0.8))
        draw, font = ImageDraw.Draw(page), letter(LINE * 0.6)
        x: float = left + LINE
        worded = self.worded[number]
        for word in worded.words:
            end = x + draw.textlength(word.word, font)
            if end > right:
                break
            responses = np.array(word.responses)[:, None]
            now = float(pass_evenly(np.array(worded.sequence.times), responses, time)[0])
            ink = mix(DARKEST, INK, now / max(word.probability, 1e-6))
            draw.text((x, top + LINE / 2), word.word, ink, font, anchor="lm")
            x = end + LINE * 0.6
