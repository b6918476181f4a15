"""The sentences below the moving clip, in letters that stay legible on any picture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from PIL import Image, ImageDraw

from densevidcap.drawing.colours import INK, PAPER
from densevidcap.drawing.lettering import letter
from densevidcap.export.lanes import assign_lanes
from densevidcap.export.lines import one_line
from densevidcap.export.marks import mark
from densevidcap.records import Caption


class Panel:
    """A row for each lane, tall enough for the longest of its sentences, so that nothing jumps."""

    def __init__(self, captions: Sequence[Caption], width: int) -> None:
        self.width = width
        self.line = min(34, max(22, width // 30))
        self._font = letter(self.line * 0.66)
        self._lanes = assign_lanes(captions)
        room = width - 2 * self.line
        self._texts = [self._wrap(one_line(caption.text), room) for caption in captions]
        rows = [0] * (max(self._lanes, default=-1) + 1)
        for text, lane in zip(self._texts, self._lanes, strict=True):
            rows[lane] = max(rows[lane], len(text))
        self._tops = [self.line // 2]
        for count in rows:
            self._tops.append(self._tops[-1] + count * self.line)
        # H.264 wants even sizes.
        self.height = (self._tops[-1] + self.line // 2) // 2 * 2
        # The same sentences hold for many pictures in a row.
        self.draw = lru_cache(maxsize=1)(self._draw)

    def _draw(self, ranks: tuple[int, ...]) -> Image.Image:
        """The captions of these ranks, from 0 on."""
        page = Image.new("RGB", (self.width, self.height), PAPER)
        draw = ImageDraw.Draw(page)
        side = round(self.line * 0.8)
        for rank in ranks:
            lane = self._lanes[rank]
            top = self._tops[lane]
            mark(page, (self.line // 3, top + (self.line - side) // 2), side, rank, lane)
            for row, text in enumerate(self._texts[rank]):
                middle = top + row * self.line + self.line / 2
                draw.text((self.line * 1.5, middle), text, INK, self._font, anchor="lm")
        return page

    def _wrap(self, text: str, room: float) -> list[str]:
        """Lines of at most `room` pixels; only a word that is longer than that is broken."""
        lines = [""]
        for word in text.split(" "):
            longer = f"{lines[-1]} {word}".lstrip()
            if self._font.getlength(longer) <= room:
                lines[-1] = longer
                continue
            if lines[-1]:
                lines.append("")
            for character in word:
                if self._font.getlength(lines[-1] + character) > room:
                    lines.append("")
                lines[-1] += character
        return lines
