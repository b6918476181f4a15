"""Colours that stand for things."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.export.made_captions import make_caption

from densevidcap.types import Caption
from densevidcap.viz.captions import assign_colours
from densevidcap.viz.colours import INK, PALETTE, PAPER, RGB, colour_of, mix

# Machado, Oliveira and Fernandes (2009), full strength, on linear light.
SIGHTS = {
    "all cones": np.eye(3),
    "no red cones": [
        [0.1523, 1.0526, -0.2049],
        [0.1145, 0.7863, 0.0992],
        [-0.0039, -0.0481, 1.052],
    ],
    "no green cones": [
        [0.3673, 0.8606, -0.228],
        [0.2801, 0.6726, 0.0473],
        [-0.0118, 0.0429, 0.9689],
    ],
    "no blue cones": [
        [1.2555, -0.0767, -0.1788],
        [-0.0784, 0.9308, 0.1476],
        [0.0048, 0.6914, 0.3039],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(rgb: RGB, sight: str) -> np.ndarray:
    """CIE L*a*b* of a colour as such eyes see it."""
    light = (np.array(rgb) / 255) ** 2.2
    seen = np.clip(np.asarray(SIGHTS[sight]) @ light, 0, 1)
    x, y, z = np.cbrt(TO_XYZ @ seen / (0.9505, 1, 1.089))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHTS)
def test_colours_differ_to_all_eyes_and_stand_out_from_paper(sight: str) -> None:
    seen = [lab(colour.rgb, sight) for colour in PALETTE]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 8
    paper = lab(PAPER, sight)
    assert min(np.linalg.norm(one - paper) for one in seen) > 40


def test_colours_come_again() -> None:
    assert colour_of(len(PALETTE) + 1) == PALETTE[1]
    assert len({colour.name for colour in PALETTE}) == len(PALETTE)


def test_mixtures_lie_between() -> None:
    assert mix(PAPER, INK, 0) == PAPER
    assert mix(PAPER, INK, 1) == INK
    assert mix((0, 0, 0), (200, 100, 50), 0.5) == (100, 50, 25)


def begin_at(start: int) -> Caption:
    return make_caption(start=start, end=start + 5, times=(start + 1,), regions=(0,))


@given(st.lists(st.integers(0, 9), max_size=40))
def test_captions_that_begin_next_to_each_other_differ_in_colour(starts: list[int]) -> None:
    colours = assign_colours([begin_at(start) for start in starts])
    by_time = [colours[rank] for rank in sorted(range(len(starts)), key=starts.__getitem__)]
    for first in range(len(by_time)):
        dozen = by_time[first : first + len(PALETTE)]
        assert len({*dozen}) == len(dozen)


def test_a_caption_has_the_same_colour_in_whichever_order_it_is_listed() -> None:
    made = [begin_at(start) for start in range(30)]
    backwards = assign_colours([*reversed(made)])
    assert backwards[::-1] == assign_colours(made)
