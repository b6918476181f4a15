"""Paired bootstrap: certain where every clip agrees, symmetric, the same for a seed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.metrics import bootstrap_difference

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
