"""Pointing and IoU: what the maths promises, and answers that look at nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.export.made_captions import GRID, make_caption

from densevidcap.data.boxes import BoxArray, BoxFile, Case, Thing
from densevidcap.errors import CorpusError
from densevidcap.metrics import bootstrap_mean
from densevidcap.metrics.grounding import (
    Grounding,
    are_on,
    best_ious,
    count_different,
    cover,
    find_centres,
    find_constant,
    find_ious,
    ground_sentences,
    measure_grounding,
    measure_steadiness,
)
from densevidcap.types import Box

REGIONS = np.array([astuple(GRID.box(region)) for region in range(len(GRID))])

spans = st.tuples(st.integers(0, 19), st.integers(1, 20)).map(
    lambda ends: (min(ends[0], ends[1] - 1) / 20, max(ends[0] + 1, ends[1]) / 20)
)
boxes = st.builds(lambda x, y: Box(x[0], y[0], x[1], y[1]), spans, spans)
things = st.lists(boxes, min_size=1, max_size=4)
case_lists = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["person", "dog"]), things),
    min_size=1,
    max_size=6,
)


def as_array(given_boxes: Sequence[Box]) -> BoxArray:
    return np.array([astuple(box) for box in given_boxes])


def make_cases(rows: list[tuple[str, str, list[Box]]]) -> list[Case]:
    return [Case(clip, 0, name, (), as_array(found)) for clip, name, found in rows]


@given(boxes, boxes)
def test_iou_is_symmetric_bounded_and_that_of_boxes(one: Box, other: Box) -> None:
    there, back = find_ious(*as_array([one, other])), find_ious(*as_array([other, one]))
    assert there == back == pytest.approx(one.iou(other))
    assert 0 <= there <= 1
    assert find_ious(*as_array([one, one])) == 1


@given(things, boxes)
def test_a_box_is_as_good_as_its_best_thing(found: list[Box], own: Box) -> None:
    (best,) = best_ious(as_array([own]), as_array(found))
    assert best == pytest.approx(max(own.iou(each) for each in found))


@given(things, st.floats(0, 1), st.floats(0, 1))
def test_a_point_is_on_any_thing_that_contains_it(found: list[Box], x: float, y: float) -> None:
    (hit,) = are_on(np.array([[x, y]]), as_array(found))
    assert hit == any(each.contains(x, y) for each in found)


@given(things)
def test_a_random_point_hits_by_the_area_that_is_covered(found: list[Box]) -> None:
    # All edges lie on twentieths of the frame.
    middles = (np.arange(20) + 0.5) / 20
    points = np.array([*product(middles, middles)])
    assert cover(as_array(found)) == pytest.approx(are_on(points, as_array(found)).mean())


def test_what_lies_outside_of_the_frame_is_not_covered() -> None:
    assert cover(np.array([[-0.5, 0.5, 0.5, 1.5]])) == pytest.approx(0.25)
    assert cover(np.array([[1.0, 0.0, 1.2, 1.0]])) == 0


@settings(max_examples=8)
@given(st.lists(things, min_size=1, max_size=3))
def test_the_constant_box_is_that_of_brute_force(of_cases: list[list[Box]]) -> None:
    edges = [*combinations([tenth / 10 for tenth in range(11)], 2)]
    best = max(
        float(np.mean([max(tried.iou(box) for box in found) for found in of_cases]))
        for tried in (Box(x[0], y[0], x[1], y[1]) for x, y in product(edges, edges))
    )
    constant = Box(*find_constant([as_array(found) for found in of_cases]))
    means = np.mean([max(constant.iou(box) for box in found) for found in of_cases])
    assert means == pytest.approx(best)


@settings(max_examples=8)
@given(case_lists)
def test_groups_share_out_the_cases_and_intervals_hold_the_means(
    rows: list[tuple[str, str, list[Box]]],
) -> None:
    cases = make_cases(rows)
    own = np.stack([case.things[0] for case in cases])
    # Each answers with a thing of the case before it.
    answers = np.roll(own, 1, axis=0)
    found = measure_grounding(cases, find_centres(answers), answers, [REGIONS] * len(cases))
    counts = {name: group.cases for name, group in found.groups.items()}
    assert counts.get("persons", 0) + counts.get("things", 0) == counts["all"] == len(cases)
    for group in found.groups.values():
        for scores in group.scores.values():
            for interval in (scores.pointing, scores.iou, scores.good):
                if interval is not None:
                    assert 0 <= interval.low <= interval.mean + 1e-9
                    assert interval.mean - 1e-9 <= interval.high <= 1 + 1e-9
    if counts.keys() >= {"persons", "things"}:
        sums = [show(found, name, "ours")[1] or 0 for name in ("persons", "things")]
        total = counts["persons"] * sums[0] + counts["things"] * sums[1]
        assert total / len(cases) == pytest.approx(show(found, "all", "ours")[1])


@settings(max_examples=8)
@given(case_lists)
def test_a_perfect_answer_scores_one(rows: list[tuple[str, str, list[Box]]]) -> None:
    cases = make_cases(rows)
    own = np.stack([case.things[-1] for case in cases])
    found = measure_grounding(cases, find_centres(own), own, [REGIONS] * len(cases))
    for group in found.groups.values():
        scores = group.scores["ours"]
        for interval in (scores.pointing, scores.iou, scores.good):
            assert interval == pytest.approx((1, 1, 1))


def show(found: Grounding, group: str, who: str) -> tuple[float | None, ...]:
    scores = found.groups[group].scores[who]
    return tuple(
        None if each is None else each.mean for each in (scores.pointing, scores.iou, scores.good)
    )


def test_answers_that_look_at_nothing() -> None:
    """A case that fills the left half, and a small one in a corner."""
    cases = make_cases([("a", "dog", [Box(0, 0, 0.5, 1)]), ("b", "person", [Box(0.9, 0.9, 1, 1)])])
    quarters = as_array(
        [Box(0, 0, 0.5, 0.5), Box(0.5, 0, 1, 0.5), Box(0, 0.5, 0.5, 1), Box(0.5, 0.5, 1, 1)]
    )
    whole = np.array([[0, 0, 1, 1.0]] * 2)
    found = measure_grounding(cases, find_centres(whole), whole, [quarters] * 2)
    assert found.constant == (0, 0, 0.5, 1)
    assert {name: group.cases for name, group in found.groups.items()} == {
        "all": 2,
        "persons": 1,
        "things": 1,
        "small": 1,
    }
    assert show(found, "all", "ours") == pytest.approx((0.5, (0.5 + 0.01) / 2, 0.5))
    assert show(found, "all", "frame centre") == (0.5, None, None)
    assert show(found, "all", "constant box") == pytest.approx((0.5, 0.5, 0.5))
    point, *rest = show(found, "all", "random point")
    assert point == pytest.approx((0.5 + 0.01) / 2)
    assert rest == [None, None]
    assert show(found, "things", "random region") == pytest.approx((0.5, 0.25, 0.5))
    assert show(found, "small", "random region") == pytest.approx((0, 0.01, 0))


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0, 1)), min_size=1, max_size=20))
def test_clips_are_drawn_and_not_their_cases(rows: list[tuple[str, float]]) -> None:
    clips, values = [clip for clip, _ in rows], np.array([value for _, value in rows])
    interval = bootstrap_mean(values, clips, rounds=50)
    assert interval == bootstrap_mean(values, clips, rounds=50)
    assert values.min() - 1e-9 <= interval.low <= interval.high <= values.max() + 1e-9
    # A single clip has nothing to draw from, however many cases it has.
    alone = bootstrap_mean(values, ["a"] * len(rows), rounds=50)
    assert (alone.low, alone.high) == pytest.approx((alone.mean, alone.mean))


def test_different_boxes_and_how_steady_they_are() -> None:
    still = np.array([[0, 0, 0.5, 0.5]] * 3)
    moving = np.array([[0, 0, 0.5, 0.5], [0.25, 0, 0.75, 0.5], [0.5, 0.5, 1, 1]])
    assert count_different([still, moving]) == 3
    assert measure_steadiness(still) == 1
    assert measure_steadiness(moving) == pytest.approx((1 / 3 + 0) / 2)
    assert measure_steadiness(still[:1]) is None


def test_sentences_are_compared_where_what_they_name_is_seen() -> None:
    """Two seconds are two frames of this file; the ball is seen in one, the dog too faintly."""
    first, second = (GRID.box(region) for region in (5, 9))
    frames = {
        1: [Thing("ball", 0.4, astuple(first)), Thing("dog", 0.39, astuple(first))],
        3: [Thing("ball", 0.9, astuple(second))],
    }
    truth = BoxFile(Path("boxes.json"), {"clip": frames}, frame_rate=2)
    ball = make_caption("balls", 0, 4, (0.5, 1.0, 1.5), (5, 6, 5))
    dog = make_caption("a dog", 0, 4, (0.5,), (5,))
    found = ground_sentences({"clip": [ball, dog], "other": []}, truth)
    group = found.found.groups["all"]
    assert (group.cases, group.clips) == (2, 1)
    assert show(found.found, "all", "sentences") == (0.5, 0.5, 0.5)
    assert (found.boxes, found.different) == (2, 1)
    assert found.steadiness == pytest.approx(first.iou(GRID.box(6)))
    with pytest.raises(CorpusError, match=r"boxes\.json: no sentence names a thing"):
        ground_sentences({"clip": [dog]}, truth)
