"""A few frames of each region-sequence on one image: its box bright, the rest dimmed."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image, ImageDraw

from densevidcap.data.clip import Size
from densevidcap.drawing.boxes import corners, outline
from densevidcap.drawing.colours import FAINT, INK, PAPER, colour_of
from densevidcap.drawing.layout import choose_evenly, fit
from densevidcap.drawing.lettering import letter
from densevidcap.records import Box, Frames
from densevidcap.regions.overlay.boxes import tag
from densevidcap.regions.words import WordedSequence

SHOWN = 6
"""Frames of a sequence at most."""
CELL = 224
"""Pixels of a frame's longer side."""
MARGIN = 240
"""Pixels of the left column."""
GAP, HEADING, LINE, TAB = 10, 34, 22, 30
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


def spotlight(picture: Image.Image, box: Box) -> Image.Image:
    """The picture in a dim light, but for the box."""
    left, top, right, bottom = (round(edge) for edge in corners(box, picture.size))
    inside = left, top, right + 1, bottom + 1
    dimmed = Image.blend(picture, Image.new("RGB", picture.size, PAPER), DIMMED)
    dimmed.paste(picture.crop(inside), inside[:2])
    return dimmed


def _draw_words(sheet: Image.Image, number: int, worded: WordedSequence, top: int) -> None:
    """The left column: number, and a line for each word."""
    draw, font, small = ImageDraw.Draw(sheet), letter(17), letter(14)
    tag(sheet, GAP, top, TAB, number)
    x = GAP + TAB + GAP
    for row, word in enumerate(worded.words):
        y = top + TAB / 2 + row * LINE
        draw.text((x, y), word.word, INK, font, anchor="lm")
        draw.text((MARGIN - 2 * GAP, y), f"{word.probability:.0%}", FAINT, small, anchor="rm")
