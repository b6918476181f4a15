"""Region-sequences beside what people say: a clip as the paper's Fig. 1 and its supplement show it.

On the left each sequence, a strip of frames with what the model says of it below; on the right the
people's sentences, each with the number and colour of the sequence that it was given to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from PIL import Image, ImageDraw

from densevidcap.data.clip import Size
from densevidcap.data.text import one_line
from densevidcap.regions.association import LEFT_OUT
from densevidcap.types import Frames, RegionSequence
from densevidcap.viz.canvas import choose_evenly, fit, letter, outline, wrap, write_lines
from densevidcap.viz.colours import FAINT, INK, PAPER, colour_of
from densevidcap.viz.sequences import spotlight, tag


@dataclass(frozen=True)
class ToldSequence:
    """A region-sequence, and what the model says of it."""

    sequence: RegionSequence
    text: str = ""
    """Empty if it says nothing."""
    confidence: float = 0.0


@dataclass(frozen=True)
class GivenSentence:
    """A person's sentence, and the region-sequence that it was given to."""

    text: str
    sequence: int
    """Its number, from 0 on, or `LEFT_OUT`."""
    words: frozenset[str] = frozenset()
    """Those for which it was given to that one."""


CELL = 184
"""Pixels of a frame's longer side."""
DIMMED = 0.3
"""How much of a frame's light is taken away outside of the box: little, to see what it is in."""
SHOWN = 5
"""Frames of a sequence at most."""
NARROWEST = 460
"""Pixels that what the model says has in a line at least."""
COLUMN = 520
"""Pixels that a person's sentence has in a line."""
SHORTEST = 720
"""Pixels of height from which on sentences begin another column."""
GAP, LINE, SQUARE, MARGIN = 10, 24, 28, 18
INDENT = SQUARE + GAP
LETTERS, SMALL, TITLE = 17, 14, 26
HEADING = "What the model says of each region-sequence, and how sure it is of that."
NOTHING = "(nothing)"


class Place(NamedTuple):
    """Where on the page a sentence stands, its lines and its left upper corner in pixels."""

    sentence: GivenSentence
    lines: tuple[str, ...]
    left: int
    top: int

    @property
    def bottom(self) -> int:
        return self.top + len(self.lines) * LINE


def order_sentences(sentences: Sequence[GivenSentence]) -> list[GivenSentence]:
    """By the number of their sequence, those that were given to none last."""
    return sorted(sentences, key=lambda each: (each.sequence == LEFT_OUT, each.sequence))


def place_sentences(
    sentences: Sequence[GivenSentence], left: int, top: int, height: int
) -> list[Place]:
    """All of them in their order, in as many columns of that height as they need."""
    font, start, y = letter(LETTERS), left, top
    places = []
    for each in sentences:
        lines = tuple(wrap(one_line(each.text), font, COLUMN - INDENT))
        if y > top and y + len(lines) * LINE > top + height:
            start, y = start + COLUMN + MARGIN, top
        places.append(Place(each, lines, start, y))
        y = places[-1].bottom + GAP
    return places


def draw_beside(
    title: str,
    told: Sequence[ToldSequence],
    sentences: Sequence[GivenSentence],
    heading: str,
    frames: Frames,
    shape: Size,
) -> Image.Image:
    """A page, with a `heading` above the sentences.

    `frames` are those that the sequences run through, `shape` is the clip's own size.
    """
    shown = choose_evenly(len(frames), SHOWN)
    width = max(NARROWEST, INDENT + len(shown) * (fit(shape, CELL)[0] + GAP))
    left = width + 3 * MARGIN
    strips = [
        _draw_sequence(number, each, shown, frames, shape, width)
        for number, each in enumerate(told)
    ]
    titles = wrap(one_line(title), letter(TITLE), left + COLUMN - MARGIN)
    headings = [
        (MARGIN, wrap(HEADING, letter(SMALL), width)),
        (left, wrap(heading, letter(SMALL), COLUMN)),
    ]
    below = MARGIN + len(titles) * TITLE + GAP
    top = below + max(len(lines) for _, lines in headings) * LINE + GAP
    tall = sum(strip.height for strip in strips)
    places = place_sentences(order_sentences(sentences), left, top, max(tall, SHORTEST))
    bottom = max([top + tall, *(place.bottom for place in places)])
    right = max([left, *(place.left for place in places)]) + COLUMN
    page = Image.new("RGB", (right + MARGIN, bottom + MARGIN), PAPER)
    write_lines(page, (MARGIN, MARGIN), titles, TITLE, letter(TITLE), INK)
    for x, lines in headings:
        write_lines(page, (x, below), lines, LINE, letter(SMALL), FAINT)
    for strip in strips:
        page.paste(strip, (MARGIN, top))
        top += strip.height
    for place in places:
        _write_sentence(page, place)
    return page


def _draw_sequence(
    number: int,
    told: ToldSequence,
    shown: Sequence[int],
    frames: Frames,
    shape: Size,
    width: int,
) -> Image.Image:
    """The sequence's number, its frames, and below them what is said of it."""
    cell = fit(shape, CELL)
    said = f"{one_line(told.text)}  {told.confidence:.0%}" if told.text else NOTHING
    lines = wrap(said, letter(LETTERS), width - INDENT)
    height = cell[1] + GAP // 2 + len(lines) * LINE + 2 * GAP
    strip = Image.new("RGB", (width, height), PAPER)
    tag(strip, 0, 0, SQUARE, number)
    for column, frame in enumerate(shown):
        box = told.sequence.boxes[frame]
        picture = Image.fromarray(frames.images[frame]).resize(cell, Image.Resampling.BICUBIC)
        lit = spotlight(picture, box, DIMMED)
        outline(lit, box, colour_of(number).rgb)
        strip.paste(lit, (INDENT + column * (cell[0] + GAP), 0))
    ink = INK if told.text else FAINT
    write_lines(strip, (INDENT, cell[1] + GAP // 2), lines, LINE, letter(LETTERS), ink)
    return strip


def _write_sentence(page: Image.Image, place: Place) -> None:
    """After the number of its sequence; the words that it was given to that one for are bright."""
    left, top = place.left, place.top + (LINE - SQUARE) // 2
    if place.sentence.sequence == LEFT_OUT:
        square = left, top, left + SQUARE - 1, top + SQUARE - 1
        ImageDraw.Draw(page).rectangle(square, outline=FAINT)
    else:
        tag(page, left, top, SQUARE, place.sentence.sequence)
    corner = left + INDENT, place.top
    write_lines(page, corner, place.lines, LINE, letter(LETTERS), FAINT, place.sentence.words)
