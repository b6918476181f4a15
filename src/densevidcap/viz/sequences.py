"""Region-sequences drawn over their clip: box plus words, in the style of the paper's Fig. 1.

`boxes` draws them on a picture, `legend` names them, `video` shows the moving clip and `sheet` a
few frames of each on one image. A sequence has the number and colour of its place in the list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from densevidcap.data.clip import Clip, Size
from densevidcap.data.sampling import end_of
from densevidcap.regions.words import WordedSequence
from densevidcap.types import Box, Frames, RegionSequence, UInt8Array
from densevidcap.viz.canvas import (
    choose_evenly,
    corners,
    fit,
    lerp,
    lerp_box,
    letter,
    line_width,
    outline,
)
from densevidcap.viz.colours import FAINT, INK, PAPER, colour_of, mix
from densevidcap.viz.video import fit_video, write_video

TAB = 1 / 19
"""Height of a box's number as a share of the picture's shorter side."""

NESTED = 0.7
"""Most of a box that room for the others' lines may take."""


def box_at(sequence: RegionSequence, time: float) -> Box:
    """Where a sequence is at any time, in even passage between the frames that were looked at."""
    return lerp_box(np.array(sequence.times), sequence.boxes, time)


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
            now = float(lerp(np.array(worded.sequence.times), responses, time)[0])
            # The root, because half as probable should not look half lost.
            ink = mix(DARKEST, INK, (now / self._full) ** 0.5)
            draw.text((x, top + self.line / 2), word.word, ink, font, anchor="lm")
            x = end + self.line / 2


SHOWN = 6
"""Frames of a sequence at most."""
CELL = 224
"""Pixels of a frame's longer side."""
MARGIN = 240
"""Pixels of the left column."""
GAP, HEADING, LINE, SQUARE = 10, 34, 22, 30
DIMMED = 0.62
"""How much of a frame's light is taken away outside of the box."""


def draw_sheet(worded: Sequence[WordedSequence], frames: Frames, shape: Size) -> Image.Image:
    """A row for each of the sequences through these frames; `shape` is the clip's own size."""
    cell = width, height = fit(shape, CELL)
    shown = choose_evenly(len(frames), SHOWN)
    most_words = max(len(each.words) for each in worded)
    row_height = max(height, most_words * LINE + GAP) + GAP
    page = (MARGIN + len(shown) * (width + GAP), HEADING + len(worded) * row_height)
    sheet = Image.new("RGB", page, PAPER)
    draw, small = ImageDraw.Draw(sheet), letter(15)
    for column, frame in enumerate(shown):
        middle = MARGIN + column * (width + GAP) + width / 2
        draw.text((middle, HEADING / 2), f"{frames.times[frame]:.1f} s", FAINT, small, anchor="mm")
    for number, each in enumerate(worded):
        top = HEADING + number * row_height
        _draw_words(sheet, number, each, top)
        for column, frame in enumerate(shown):
            box = each.sequence.boxes[frame]
            picture = Image.fromarray(frames.images[frame]).resize(cell, Image.Resampling.BICUBIC)
            lit = spotlight(picture, box)
            outline(lit, box, colour_of(number).rgb)
            sheet.paste(lit, (MARGIN + column * (width + GAP), top))
    return sheet


def spotlight(picture: Image.Image, box: Box, dimmed: float = DIMMED) -> Image.Image:
    """The picture in a dim light, but for the box."""
    left, top, right, bottom = (round(edge) for edge in corners(box, picture.size))
    inside = left, top, right + 1, bottom + 1
    lit = Image.blend(picture, Image.new("RGB", picture.size, PAPER), dimmed)
    lit.paste(picture.crop(inside), inside[:2])
    return lit


def _draw_words(sheet: Image.Image, number: int, worded: WordedSequence, top: int) -> None:
    """The left column: number, and a line for each word."""
    draw, font, small = ImageDraw.Draw(sheet), letter(17), letter(14)
    tag(sheet, GAP, top, SQUARE, number)
    x = GAP + SQUARE + GAP
    for row, word in enumerate(worded.words):
        y = top + SQUARE / 2 + row * LINE
        draw.text((x, y), word.word, INK, font, anchor="lm")
        draw.text((MARGIN - 2 * GAP, y), f"{word.probability:.0%}", FAINT, small, anchor="rm")


def write_overlay_video(
    worded: Sequence[WordedSequence],
    clip: Clip,
    path: Path,
    advance: Callable[[], None] = lambda: None,
) -> None:
    """An H.264 video; `advance` is called after each of the clip's pictures."""
    width, height = fit_video((clip.info.width, clip.info.height))
    legend = Legend(worded, width)
    size = width, height + legend.height

    def draw(seconds: float, image: UInt8Array) -> Image.Image:
        picture = Image.fromarray(image)
        draw_boxes(picture, [box_at(each.sequence, seconds) for each in worded])
        page = Image.new("RGB", size)
        page.paste(picture, (0, 0))
        page.paste(legend.draw(seconds), (0, height))
        return page

    pages = ((seconds, draw(seconds, image)) for seconds, image in clip.stream((width, height)))
    write_video(path, pages, size, end_of(clip.times()), advance)
