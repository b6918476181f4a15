"""Region-sequences beside people's sentences: everything is drawn, and nothing over another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from densevidcap.regions.association import LEFT_OUT
from densevidcap.types import Frames, Grid, RegionSequence
from densevidcap.viz.beside import (
    CELL,
    COLUMN,
    GAP,
    INDENT,
    LETTERS,
    LINE,
    MARGIN,
    SQUARE,
    GivenSentence,
    Place,
    ToldSequence,
    draw_beside,
    order_sentences,
    place_sentences,
)
from densevidcap.viz.canvas import letter, wrap
from densevidcap.viz.colours import FAINT, INK, PAPER, RGB, colour_of

GRID = Grid(4, 4, window=1, stride=1)
WORDS = ("a", "dog", "runs", "t-shirt", "interviewing", "w" * 90)
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=25).map(" ".join)
GIVEN = st.lists(st.builds(GivenSentence, SENTENCES, st.integers(LEFT_OUT, 11)), max_size=60)


def make_told(*texts: str) -> list[ToldSequence]:
    """Each from the region of its own number to the next ones, through three frames."""
    times = (0.0, 1.0, 2.0)
    return [
        ToldSequence(RegionSequence(GRID, (number, number + 1, number + 2), times), text, 0.25)
        for number, text in enumerate(texts)
    ]


def make_frames() -> Frames:
    """As dark as the page, so that all that is seen was drawn."""
    return Frames(np.full((3, 60, 80, 3), PAPER, np.uint8), np.arange(3.0))


def draw(told: Sequence[ToldSequence], sentences: Sequence[GivenSentence]) -> Image.Image:
    return draw_beside("talk", told, sentences, "people", make_frames(), (80, 60))


def has(page: Image.Image, box: tuple[int, int, int, int], colour: RGB) -> bool:
    return bool((np.asarray(page.crop(box)) == colour).all(axis=2).any())


@given(SENTENCES, st.integers(60, 600))
def test_lines_fit_and_lose_nothing(text: str, room: int) -> None:
    font = letter(LETTERS)
    lines = wrap(text, font, room)
    assert all(font.getlength(line) <= room for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    short = [word for word in text.split() if font.getlength(word) <= room]
    assert [word for line in lines for word in line.split() if word in short] == short


def test_a_word_goes_into_the_next_line_only_for_want_of_room() -> None:
    font = letter(LETTERS)
    assert wrap("a dog runs", font, font.getlength("a dog runs")) == ["a dog runs"]
    assert wrap("a dog runs", font, font.getlength("a dog runs") - 1) == ["a dog", "runs"]


@given(GIVEN)
def test_sentences_are_ordered_by_sequence_and_else_as_they_were(
    sentences: list[GivenSentence],
) -> None:
    ordered = order_sentences(sentences)
    numbers = [each.sequence for each in ordered]
    winners = [number for number in numbers if number != LEFT_OUT]
    assert numbers == sorted(winners) + [LEFT_OUT] * (len(numbers) - len(winners))
    for number in set(numbers):
        of_one = [each for each in sentences if each.sequence == number]
        assert [each for each in ordered if each.sequence == number] == of_one


def overlap(one: Place, other: Place) -> bool:
    """Each has lines, as wide as a column, and a square that is a little higher than the first."""
    higher = (SQUARE - LINE) // 2
    apart = abs(one.left - other.left) >= COLUMN
    above, below = sorted((one, other), key=lambda each: each.top)
    return not apart and max(above.bottom, above.top + LINE + higher) > below.top - higher


@given(GIVEN, st.integers(40, 900))
def test_all_sentences_have_a_place_of_their_own(
    sentences: list[GivenSentence], height: int
) -> None:
    places = place_sentences(sentences, 700, 50, height)
    assert [place.sentence for place in places] == sentences
    assert not any(overlap(*pair) for pair in combinations(places, 2))
    for place in places:
        assert place.left >= 700
        assert max(map(letter(LETTERS).getlength, place.lines)) <= COLUMN - INDENT
        assert place.top == 50 or 50 < place.top < place.bottom <= 50 + height
    assert all((place.left, place.top) == (700, 50) for place in places[:1])
    # A column is begun only where the one before has no room, and none is skipped.
    for place, after in pairwise(places):
        assert after.left in (place.left, place.left + COLUMN + MARGIN)
        if after.left > place.left:
            assert place.bottom + GAP + len(after.lines) * LINE > 50 + height


@pytest.mark.parametrize("count", [0, 1, 20, 90])
def test_every_sentence_is_drawn_after_the_number_of_its_sequence(count: int) -> None:
    told = make_told(*["a dog runs"] * 3)
    sentences = [GivenSentence(f"a dog runs {n}", n % 4 - 1) for n in range(count)]
    page = draw(told, sentences)
    left = 3 * MARGIN + max(460, INDENT + 3 * (CELL + GAP))
    assert page.width >= left + COLUMN + MARGIN
    # The page's left half is of the sequences; below the headings squares begin.
    places = place_sentences(order_sentences(sentences), left, 0, find_height(told))
    top = find_top(page, left) if count else 0
    for place in places:
        middle = top + place.top + LINE // 2
        square = (place.left, middle - SQUARE // 2, place.left + SQUARE, middle + SQUARE // 2)
        number = place.sentence.sequence
        colour = FAINT if number == LEFT_OUT else colour_of(number).rgb
        assert page.getpixel((place.left, middle)) == colour
        assert has(page, square, PAPER)  # the number, or an empty middle
        text = (place.left + INDENT, top + place.top, place.left + COLUMN, top + place.bottom)
        assert has(page, text, FAINT)
        assert page.height >= text[3] + MARGIN


def find_height(told: Sequence[ToldSequence]) -> int:
    """Of a column of sentences: that of the sequences, or the least."""
    return max(720, len(told) * (CELL * 60 // 80 + GAP // 2 + LINE + 2 * GAP))


def find_top(page: Image.Image, left: int) -> int:
    """Where the first sentence's line begins: its square's upper edge is a little above."""
    column = np.asarray(page)[:, left].astype(int)
    square = [colour_of(0).rgb, FAINT]
    first = next(
        y
        for y in range(len(column))
        if tuple(column[y]) in square and (column[y : y + SQUARE] == column[y]).all()
    )
    return first + (SQUARE - LINE) // 2


def test_only_words_that_count_are_bright() -> None:
    told = make_told("a dog runs")

    def find_ink(*words: str) -> bool:
        page = draw(told, [GivenSentence("a dog, - running/jumping", 0, frozenset(words))])
        left = page.width - MARGIN - COLUMN
        return has(page, (left, 0, page.width, page.height), INK)

    assert find_ink("dog")
    assert find_ink("running")
    assert not find_ink()
    assert not find_ink("do", "cat")


def test_each_sequence_has_its_colour_and_box_in_every_frame() -> None:
    page = draw(make_told("a dog runs", "", "two dogs run"), [])
    height = CELL * 60 // 80
    # Squares of the three sequences, one below the other.
    tops = [
        int(np.flatnonzero((np.asarray(page)[:, MARGIN] == colour_of(number).rgb).all(axis=1))[0])
        for number in range(3)
    ]
    assert tops == sorted(tops)
    for number, top in enumerate(tops):
        for column in range(3):
            left = MARGIN + INDENT + column * (CELL + GAP)
            cell = np.asarray(page.crop((left, top, left + CELL, top + height)))
            rows, columns = (cell == colour_of(number).rgb).all(axis=2).nonzero()
            box = GRID.box(number + column)
            edges = [columns.min() / CELL, rows.min() / height]
            assert edges == pytest.approx([box.left, box.top], abs=4 / height)
            edges = [columns.max() / CELL, rows.max() / height]
            assert edges == pytest.approx([box.right, box.bottom], abs=4 / height)
        below = (MARGIN + INDENT, top + height + 3, MARGIN + 400, top + height + LINE)
        # Of the second nothing is said, which is told less loudly.
        assert has(page, below, FAINT if number == 1 else INK)
        assert has(page, below, INK) == (number != 1)
