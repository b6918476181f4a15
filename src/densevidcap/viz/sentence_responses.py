"""A sentence with the response map of each of its words, as in the supplement's "Response Maps".

Each map lies over the frame in which its word is strongest, with a white box round the strongest
region.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from densevidcap.data.clip import Size
from densevidcap.data.text import one_line
from densevidcap.types import Frames
from densevidcap.viz.canvas import fit, letter, wrap, write_lines
from densevidcap.viz.colours import FAINT, INK, PAPER
from densevidcap.viz.responses import ResponseMap


@dataclass(frozen=True)
class MappedSentence:
    """A sentence, and the maps of those of its words that can be looked for."""

    who: str
    """Says it, as in "the model"."""
    text: str
    maps: tuple[ResponseMap, ...]


COLUMNS = 5
"""Maps in a row at most."""
CELL = 264
"""Pixels of a map's longer side."""
NARROWEST = 130
"""Pixels that a word has in a line at least."""
GAP, LINE, MARGIN = 14, 26, 18
LETTERS, SMALL, TITLE = 20, 14, 26
HEADING = (
    "Each word over the frame in which it is strongest, a white box round its strongest region, and"
    " the chance that people name what they see there so. Colours are each word's own: yellow is"
    " its strongest."
)
NOTHING = "none of its words can be looked for"


def draw_sentences(
    title: str, sentences: Sequence[MappedSentence], frames: Frames, shape: Size
) -> Image.Image:
    """A page. `frames` are those that the maps are of, `shape` is the clip's own size."""
    cell = fit(shape, CELL)
    column = max(cell[0], NARROWEST) + GAP
    most = max(len(each.maps) for each in sentences)
    width = max(min(most, COLUMNS), 3) * column - GAP
    titles = wrap(one_line(title), letter(TITLE), width)
    heading = wrap(HEADING, letter(SMALL), width)
    parts = [_draw_sentence(each, frames, cell, column, width) for each in sentences]
    below = MARGIN + len(titles) * TITLE + GAP
    top = below + len(heading) * LINE + GAP
    height = top + sum(part.height for part in parts) + MARGIN
    page = Image.new("RGB", (width + 2 * MARGIN, height), PAPER)
    write_lines(page, (MARGIN, MARGIN), titles, TITLE, letter(TITLE), INK)
    write_lines(page, (MARGIN, below), heading, LINE, letter(SMALL), FAINT)
    for part in parts:
        page.paste(part, (MARGIN, top))
        top += part.height
    return page


def _draw_sentence(
    sentence: MappedSentence, frames: Frames, cell: Size, column: int, width: int
) -> Image.Image:
    """Who says it, the sentence with bright words where there is a map, and the maps in rows."""
    bright = {each.shown.word for each in sentence.maps}
    lines = wrap(one_line(sentence.text), letter(LETTERS), width)
    columns = (width + GAP) // column
    rows = [sentence.maps[at : at + columns] for at in range(0, len(sentence.maps), columns)]
    drawn = [_draw_row(row, frames, cell, column, width) for row in rows]
    top = (1 + len(lines)) * LINE + GAP // 2
    below = sum(row.height for row in drawn) if drawn else LINE
    part = Image.new("RGB", (width, top + below + GAP), PAPER)
    write_lines(part, (0, 0), [f"{sentence.who} says"], LINE, letter(SMALL), FAINT)
    write_lines(part, (0, LINE), lines, LINE, letter(LETTERS), FAINT, bright)
    for row in drawn:
        part.paste(row, (0, top))
        top += row.height
    if not drawn:
        write_lines(part, (0, top), [NOTHING], LINE, letter(SMALL), FAINT)
    return part


def _draw_row(
    maps: Sequence[ResponseMap], frames: Frames, cell: Size, column: int, width: int
) -> Image.Image:
    """Maps side by side, each with its word and how probable that is below."""
    names = [wrap(each.shown.word, letter(LETTERS), column - GAP) for each in maps]
    height = cell[1] + (max(map(len, names)) + 1) * LINE + GAP
    row = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(row)
    for number, (response, lines) in enumerate(zip(maps, names, strict=True)):
        shown, left = response.shown, number * column
        picture = Image.fromarray(frames.images[shown.index]).resize(cell, Image.Resampling.BICUBIC)
        row.paste(response.paint(np.asarray(picture), shown.time), (left, 0))
        write_lines(row, (left, cell[1] + 4), lines, LINE, letter(LETTERS), INK)
        y = cell[1] + 4 + len(lines) * LINE + LINE / 2 - 4
        draw.text((left, y), tell(shown.peak, shown.time), FAINT, letter(SMALL), anchor="lm")
    return row


def tell(probability: float, time: float) -> str:
    """How probable a word is, and when; small probabilities with a digit more."""
    digits = 0 if probability >= 0.1 else 1
    return f"{probability:.{digits}%} at {time:.1f} s"
