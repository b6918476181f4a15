"""Paired bootstrap: certain where every clip agrees, symmetric, the same for a seed."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metrics.made_captions import REFERENCES, say

from densevidcap.metrics import CaptionScorer, Interval, bootstrap_difference
from densevidcap.metrics.bootstrap import draw_videos

SCORES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30).map(
    lambda pairs: tuple({str(n): pair[side] for n, pair in enumerate(pairs)} for side in (0, 1))
)


@given(SCORES)
def test_turning_the_systems_round_turns_the_sign(scores: tuple[dict[str, float], ...]) -> None:
    there = bootstrap_difference(scores[0], scores[1], rounds=50)
    back = bootstrap_difference(scores[1], scores[0], rounds=50)
    assert (there.mean, there.low, there.high) == pytest.approx((-back.mean, -back.high, -back.low))


@given(SCORES, st.floats(0.1, 1))
def test_what_is_better_on_every_clip_is_better(
    scores: tuple[dict[str, float], ...], gain: float
) -> None:
    better = {video: score + gain for video, score in scores[0].items()}
    assert bootstrap_difference(scores[0], better, rounds=50) == pytest.approx([gain] * 3)


@given(SCORES, st.integers(0, 5))
def test_a_seed_gives_one_interval(scores: tuple[dict[str, float], ...], seed: int) -> None:
    first, second = (bootstrap_difference(scores[0], scores[1], 20, seed) for _ in range(2))
    assert first == second
    assert first.low <= first.high


def test_scores_of_different_videos_do_not_compare() -> None:
    with pytest.raises(ValueError, match="different videos"):
        bootstrap_difference({"a": 1.0}, {"b": 1.0})


COUNTS = st.lists(st.integers(0, 3), min_size=len(REFERENCES), max_size=len(REFERENCES))


@settings(max_examples=8)
@given(COUNTS.filter(any), st.integers(0, 9))
def test_a_draw_scores_as_its_videos_would(
    scorer: CaptionScorer, counts: list[int], seed: int
) -> None:
    """BLEU and METEOR are of the set, so that no mean over videos can stand for them."""
    source = random.Random(seed)
    said = {video: say(source) for video in REFERENCES}
    said["video0"] = REFERENCES["video0"][0]
    drawn = [(f"{v} {n}", v) for v, k in zip(REFERENCES, counts, strict=True) for n in range(k)]
    with CaptionScorer({copy: REFERENCES[video] for copy, video in drawn}) as of_draw:
        expected = dict(of_draw.score({copy: said[video] for copy, video in drawn}).overall)
    # The rarity of words stays that of all references.
    each = scorer.score(said)
    expected["CIDEr"] = float(np.mean([each.videos[video]["CIDEr"] for _, video in drawn]))
    whole, found = np.ones(len(counts)), scorer.resample(said, np.array([counts, counts], float))
    assert {name: values[1] for name, values in found.items()} == pytest.approx(expected)
    found = scorer.resample(said, whole[None])
    assert {name: values[0] for name, values in found.items()} == pytest.approx(each.overall)


def test_draws_are_of_as_many_videos() -> None:
    draws = draw_videos(7, rounds=40)
    assert draws.shape == (40, 7)
    assert (draws.sum(axis=1) == 7).all()
    assert Interval.span(0.5, np.linspace(0, 1, 41)) == pytest.approx((0.5, 0.025, 0.975))
