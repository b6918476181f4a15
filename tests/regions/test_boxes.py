"""Boxes that are fitted to a map of patches."""

from __future__ import annotations

from dataclasses import astuple, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.config import BoxesConfig
from densevidcap.regions.boxes import (
    fit_boxes,
    fit_to_words,
    list_boxes,
    measure_overlap,
    reduce_patches,
    spread_windows,
    weigh_boxes,
)
from densevidcap.types import Box, FloatArray, Grid, RegionSequence

SIDE = 8
ALONE = BoxesConfig(level=0.5, steadiness=0.0)


def draw_box(left: int, top: int, right: int, bottom: int) -> FloatArray:
    strength = np.zeros((SIDE, SIDE), np.float32)
    strength[top:bottom, left:right] = 1
    return strength


@st.composite
def edges(draw: st.DrawFn) -> tuple[int, int, int, int]:
    left, top = draw(st.integers(0, SIDE - 1)), draw(st.integers(0, SIDE - 1))
    return left, top, draw(st.integers(left + 1, SIDE)), draw(st.integers(top + 1, SIDE))


def test_every_box_is_listed_once() -> None:
    boxes = list_boxes(2, 3)
    assert len(boxes) == 3 * 6
    assert len({tuple(box) for box in boxes.tolist()}) == len(boxes)
    assert (boxes[:, 0] < boxes[:, 2]).all()
    assert (boxes[:, 1] < boxes[:, 3]).all()
    assert boxes.max(axis=0).tolist() == [2, 1, 3, 2]


@given(st.integers(0, 10**6))
def test_a_box_is_worth_what_is_in_it(seed: int) -> None:
    strength = np.random.default_rng(seed).normal(size=(2, 4, 5)).astype(np.float32)
    boxes = list_boxes(4, 5)
    expected = [
        [frame[top:bottom, left:right].sum() / 20 for left, top, right, bottom in boxes]
        for frame in strength
    ]
    np.testing.assert_allclose(weigh_boxes(strength, boxes), expected, atol=1e-5)


@given(edges(), edges())
def test_overlap_is_that_of_boxes(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    boxes = (Box(*(edge / SIDE for edge in box)) for box in (one, other))
    expected = next(boxes).iou(next(boxes))
    assert measure_overlap(np.array([one]), np.array(other))[0] == pytest.approx(expected, abs=1e-6)


@given(edges())
def test_a_clear_thing_is_framed_exactly(box: tuple[int, int, int, int]) -> None:
    fitted = fit_boxes(draw_box(*box)[None], ALONE)
    assert fitted == (Box(*(edge / SIDE for edge in box)),)


@given(edges(), st.integers(0, SIDE - 1), st.integers(0, SIDE - 1))
def test_one_stray_patch_far_away_changes_nothing(
    box: tuple[int, int, int, int], x: int, y: int
) -> None:
    left, top, right, bottom = box
    strength = draw_box(*box)
    apart = x < left - 1 or x > right or y < top - 1 or y > bottom
    if not apart or (right - left) * (bottom - top) < 4:
        return
    strength[y, x] = 1
    fitted = fit_boxes(strength[None], ALONE)[0]
    # Reaching for it would take in more that is not of the thing than it brings.
    assert fitted.area * SIDE**2 <= 2 * ((right - left) * (bottom - top) + 1)
    assert fitted.iou(Box(*(edge / SIDE for edge in box))) >= 0.5


@given(st.integers(0, 10**6), st.floats(0.01, 0.5))
def test_steadiness_gives_a_better_whole(seed: int, steadiness: float) -> None:
    strength = np.random.default_rng(seed).uniform(size=(5, 4, 4)).astype(np.float32)

    def judge(boxes: tuple[Box, ...]) -> float:
        worth = 0.0
        for frame, box in zip(strength - 0.5, boxes, strict=True):
            left, top, right, bottom = (round(4 * edge) for edge in astuple(box))
            worth += frame[top:bottom, left:right].sum() / 16
        likeness = sum(one.iou(other) for one, other in pairwise(boxes))
        return float(worth + steadiness * likeness)

    steady = judge(fit_boxes(strength, BoxesConfig(level=0.5, steadiness=steadiness)))
    assert steady >= judge(fit_boxes(strength, ALONE)) - 1e-5


def test_a_frame_that_says_nothing_keeps_the_box_of_its_neighbours() -> None:
    thing, nothing = draw_box(1, 1, 5, 4), np.full((SIDE, SIDE), 0.5, np.float32)
    boxes = fit_boxes(np.stack([thing, nothing, thing]), BoxesConfig(level=0.5, steadiness=0.1))
    assert boxes[0] == boxes[1] == boxes[2]


def test_a_box_may_jump_where_the_picture_is_cut() -> None:
    strength = np.stack([0.6 * draw_box(0, 0, 2, 2), 0.6 * draw_box(6, 6, 8, 8)])
    strength = strength.astype(np.float32)
    config = BoxesConfig(level=0.5, steadiness=10.0)
    together = fit_boxes(strength, config)
    apart = fit_boxes(strength, config, np.array([True]))
    assert together[0] == together[1]
    assert apart == (Box(0, 0, 0.25, 0.25), Box(0.75, 0.75, 1, 1))


def test_windows_are_spread_over_their_patches() -> None:
    grid = Grid(3, 3, 2, 1)
    values = np.array([[1.0, 0.0, 0.0, 0.0]], np.float32)
    spread = spread_windows(values, grid)[0]
    expected = np.array([[1, 0.5, 0], [0.5, 0.25, 0], [0, 0, 0]])
    np.testing.assert_allclose(spread, expected)
    np.testing.assert_allclose(spread_windows(np.ones((1, 4), np.float32), grid), 1)


def test_few_numbers_keep_what_is_alike() -> None:
    random = np.random.default_rng(0)
    kinds = random.normal(size=(5, 64))
    which = random.integers(5, size=(2, 6, 6))
    patches = (kinds[which] + 0.01 * random.normal(size=(2, 6, 6, 64))).astype(np.float32)
    few = reduce_patches(patches, 8)
    assert few.shape == (2, 6, 6, 8)

    def compare(x: FloatArray) -> FloatArray:
        rows = x.reshape(-1, x.shape[-1])
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows @ rows.T)

    centred = patches - patches.mean(axis=(0, 1, 2))
    np.testing.assert_allclose(compare(few), compare(centred), atol=0.02)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sharpness", 1.0),
        ("loyalty", 20.0),
        ("memory", 5.0),
        ("words", 0.9),
        ("level", 0.4),
        ("steadiness", 1.0),
    ],
)
def test_every_setting_counts(name: str, value: float) -> None:
    usual = BoxesConfig(level=0.3)
    changed = replace(usual, **{name: value})  # type: ignore[arg-type]
    sequence = RegionSequence(Grid(6, 6, 3, 3), (0, 1, 3, 2, 0, 1), (*range(6),))

    def fit(config: BoxesConfig, seed: int) -> tuple[Box, ...]:
        random = np.random.default_rng(seed)
        shown = random.random((6, 36), np.float32)
        # Hardly different from frame to frame, so that none is a cut.
        patches = random.normal(size=(6, 6, 8)) + 0.5 * random.normal(size=(6, 6, 6, 8))
        return fit_to_words(shown, Grid(6, 6, 1, 1), patches.astype(np.float32), config, sequence)

    assert any(fit(usual, seed) != fit(changed, seed) for seed in range(10))
