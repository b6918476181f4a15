"""Sentences with the maps of their words: which frame, which box, and what stands below."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from densevidcap.models.shown_words import ShownWord
from densevidcap.types import Frames, Grid
from densevidcap.viz.canvas import corners, letter, wrap
from densevidcap.viz.colours import FAINT, INK, PAPER
from densevidcap.viz.responses import WHITE, ResponseMap
from densevidcap.viz.sentence_responses import (
    CELL,
    COLUMNS,
    GAP,
    LETTERS,
    LINE,
    MARGIN,
    NARROWEST,
    MappedSentence,
    draw_sentences,
    tell,
)

GRID = Grid(4, 4, window=1, stride=1)
SHAPE = (80, 60)
HEIGHT = CELL * 60 // 80


def make_map(word: str, frame: int = 0, region: int = 5) -> ResponseMap:
    """Strong in one region of one frame."""
    responses = np.full((3, len(GRID)), 0.02, np.float32)
    responses[frame, region] = 0.8
    box = GRID.box(region)
    shown = ShownWord(word, "NOUN", 0.9, 0.8, frame, region, float(frame), box)
    return ResponseMap(shown, GRID, np.arange(3.0), responses, (box,) * 3)


def make_frames() -> Frames:
    """Black, then red, then blue."""
    images = np.zeros((3, 60, 80, 3), np.uint8)
    images[1, :, :, 0] = images[2, :, :, 2] = 120
    return Frames(images, np.arange(3.0))


def draw(*sentences: MappedSentence, shape: tuple[int, int] = SHAPE) -> Image.Image:
    return draw_sentences("talk", sentences, make_frames(), shape)


def find_cells(page: Image.Image) -> list[tuple[int, int]]:
    """(left, top) of each map, by the white box that each has in its first region."""
    white = (np.asarray(page) == WHITE).all(axis=2)
    edges = white & ~np.roll(white, 1, axis=0) & ~np.roll(white, 1, axis=1)
    rows, columns = edges.nonzero()
    # The corner's rim is a pixel wide.
    return [
        (int(x) - 1, int(y) - 1)
        for y, x in zip(rows, columns, strict=True)
        if white[y, x : x + 20].all() and white[y : y + 20, x].all()
    ]


@pytest.mark.parametrize("count", [1, 3, 5, 6, 12])
def test_every_word_has_a_map_in_rows_that_fit(count: int) -> None:
    words = [f"word{number}" for number in range(count)]
    maps = tuple(make_map(word, region=0) for word in words)
    page = draw(MappedSentence("a person", " ".join(words), maps))
    cells = find_cells(page)
    assert len(cells) == count
    columns = min(max(count, 3), COLUMNS)
    assert page.width == 2 * MARGIN + columns * (CELL + GAP) - GAP
    lefts, tops = [left for left, _ in cells], sorted({top for _, top in cells})
    assert lefts == [MARGIN + n % columns * (CELL + GAP) for n in range(count)]
    assert len(tops) == -(-count // columns)
    for left, top in cells:
        below = page.crop((left, top + HEIGHT + 1, left + CELL, top + HEIGHT + 2 * LINE))
        assert (np.asarray(below) == INK).all(axis=2).any()
        assert (np.asarray(below) == FAINT).all(axis=2).any()
    assert page.height >= tops[-1] + HEIGHT + 2 * LINE


@pytest.mark.parametrize("region", [0, 6, 15])
@pytest.mark.parametrize("frame", [0, 1, 2])
def test_the_strongest_frame_has_a_white_box_round_the_strongest_region(
    frame: int, region: int
) -> None:
    page = draw(MappedSentence("a person", "dog", (make_map("dog", frame, region),)))
    marked = (np.asarray(page) == WHITE).all(axis=2)
    rows, columns = marked.nonzero()
    (left, top) = find_cells(draw(MappedSentence("a person", "dog", (make_map("dog", 0, 0),))))[0]
    found = columns.min() - left, rows.min() - top, columns.max() - left, rows.max() - top
    assert found == pytest.approx(corners(GRID.box(region), (CELL, HEIGHT)), abs=2)
    # Away from the box the frame itself is seen.
    away = np.asarray(page)[top + HEIGHT // 2 + 8, left + 4 if region == 15 else left + CELL - 4]
    red, _, blue = away.astype(int)
    assert (red > blue + 20, blue > red + 20) == (frame == 1, frame == 2)


def test_words_with_a_map_are_bright_in_the_sentence() -> None:
    def find_ink(maps: tuple[ResponseMap, ...]) -> int:
        page = np.asarray(draw(MappedSentence("a person", "some dogs", maps)))
        top = MARGIN + 26 + GAP + LINE * 2 + GAP  # title, heading and who says it
        line = page[top : top + 2 * LINE]
        return int((line == INK).all(axis=2).sum())

    assert find_ink((make_map("dogs"),)) > 0
    assert find_ink((make_map("some"), make_map("dogs"))) > find_ink((make_map("dogs"),))
    assert find_ink((make_map("cat"),)) == 0


def test_a_sentence_of_which_nothing_can_be_looked_for_is_still_told() -> None:
    with_map = MappedSentence("a person", "a dog", (make_map("dog"),))
    one, two = draw(with_map), draw(with_map, MappedSentence("the model", "hello", ()))
    assert two.height == one.height + 2 * LINE + GAP // 2 + LINE + GAP
    rest = np.asarray(two)[one.height - MARGIN :]
    assert (rest == FAINT).all(axis=2).any()
    assert len(find_cells(draw(MappedSentence("a person", "hello", ())))) == 0


def test_long_words_and_narrow_clips_leave_room_for_each_other() -> None:
    long = "w" * 60
    maps = tuple(make_map(word, region=0) for word in (long, "dog"))
    page = draw(MappedSentence("a person", "dog", maps), shape=(20, 90))
    width = max(CELL * 20 // 90, NARROWEST)
    assert page.width == 2 * MARGIN + 3 * (width + GAP) - GAP
    rows = (len(wrap(long, letter(LETTERS), width)) + 1) * LINE + CELL
    maps_and_words = np.asarray(page)[-rows - 2 * GAP - MARGIN :]
    assert (maps_and_words[:, MARGIN + width : MARGIN + width + GAP] == PAPER).all()
    assert (maps_and_words[:, MARGIN : MARGIN + width] == INK).all(axis=2).any()


def test_small_chances_are_told_with_a_digit_more() -> None:
    assert tell(0.79, 3.0) == "79% at 3.0 s"
    assert tell(0.1, 0.04) == "10% at 0.0 s"
    assert tell(0.0123, 12.34) == "1.2% at 12.3 s"
