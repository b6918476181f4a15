"""Captions drawn over their clip: marks on the picture, the sentences below it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from heapq import heappop, heappush

from PIL import Image, ImageDraw

from densevidcap.data.text import one_line
from densevidcap.types import Box, Caption
from densevidcap.viz.canvas import corners, letter, line_width, outline, wrap
from densevidcap.viz.colours import INK, PAPER, RGB, colour_of


def assign_lanes(captions: Sequence[Caption]) -> list[int]:
    """The lane of each caption, from 0 on: as few as possible, better captions in lower ones.

    With heaps rather than looks at every lane, because a file may hold thousands that overlap.
    """
    order = sorted(range(len(captions)), key=lambda rank: (captions[rank].start, rank))
    lanes = [0] * len(captions)
    taken: list[tuple[float, int]] = []
    free: list[int] = []
    count = 0
    for rank in order:
        caption = captions[rank]
        while taken and taken[0][0] <= caption.start:
            heappush(free, heappop(taken)[1])
        if not free:
            free.append(count)
            count += 1
        lanes[rank] = heappop(free)
        heappush(taken, (caption.end, lanes[rank]))
    return lanes


def assign_colours(captions: Sequence[Caption]) -> list[RGB]:
    """The colour of each caption: no other has it of the dozen that begin next to it."""
    order = sorted(range(len(captions)), key=lambda rank: (captions[rank].start, rank))
    places = {rank: place for place, rank in enumerate(order)}
    return [colour_of(places[rank]).rgb for rank in range(len(captions))]


def mark(
    picture: Image.Image, corner: tuple[float, float], height: int, rank: int, colour: RGB
) -> None:
    """The caption's number, which counts from 1 for people, in a patch of its colour."""
    left, top = corner
    text, font = str(rank + 1), letter(height * 0.75)
    right, bottom = left + _width_of(rank, height) - 1, top + height - 1
    draw = ImageDraw.Draw(picture)
    draw.rectangle((left, top, right, bottom), fill=colour)
    draw.text(((left + right) / 2, (top + bottom) / 2), text, PAPER, font, anchor="mm")


def mark_box(picture: Image.Image, box: Box, rank: int, lane: int, colour: RGB) -> None:
    """The box with its number on its top edge.

    Each lane's boxes are a line further in and their numbers further right than those of the lane
    before, so that boxes in the same place stay apart.
    """
    left, top, right, bottom = corners(box, picture.size)
    # Never so far in that nothing is left of the box.
    inset = min(lane * (line_width(picture.size) + 1), (right - left) / 3, (bottom - top) / 3)
    outline(picture, box, colour, inset)
    height = max(18, round(min(picture.size) / 19))
    width = _width_of(rank, height)
    slots = max(1, int((right - left - 2 * inset) // width))
    mark(picture, (left + inset + lane % slots * width, top + inset), height, rank, colour)


def _width_of(rank: int, height: int) -> int:
    return max(height, round(height * (0.5 + 0.45 * len(str(rank + 1)))))


class Panel:
    """A row for each lane, tall enough for the longest of its sentences, so that nothing jumps."""

    def __init__(self, captions: Sequence[Caption], width: int) -> None:
        self.width = width
        self.line = min(34, max(22, width // 30))
        self._font = letter(self.line * 0.66)
        self._lanes = assign_lanes(captions)
        self._colours = assign_colours(captions)
        room = width - 2 * self.line
        self._texts = [wrap(one_line(caption.text), self._font, room) for caption in captions]
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
            corner = self.line // 3, top + (self.line - side) // 2
            mark(page, corner, side, rank, self._colours[rank])
            for row, text in enumerate(self._texts[rank]):
                middle = top + row * self.line + self.line / 2
                draw.text((self.line * 1.5, middle), text, INK, self._font, anchor="lm")
        return page
