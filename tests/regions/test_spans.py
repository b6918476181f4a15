"""The run of frames in which a sequence shows most."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.regions.objectives import Float64Array
from densevidcap.regions.search import find_best_run


def exceed(per_frame: list[float]) -> Float64Array:
    """By how much each frame exceeds half of the best one."""
    shown = np.array(per_frame)
    return np.asarray(shown - shown.max() / 2)


def best_run(per_frame: list[float]) -> list[int]:
    return list(range(*find_best_run(exceed(per_frame))))


@pytest.mark.parametrize(
    ("per_frame", "kept"),
    [
        ([0.8, 0.8, 0.8], [0, 1, 2]),
        ([0.1, 0.8, 0.9, 0.1], [1, 2]),
        ([0.9, 0.8, 0.2, 0.9, 0.0], [0, 1, 2, 3]),
        ([0.5, 0.0, 0.0, 0.0, 0.6], [4]),
        ([0.0, 0.0], [0, 1]),
        ([0.3], [0]),
    ],
)
def test_a_span_bridges_short_gaps_only(per_frame: list[float], kept: list[int]) -> None:
    assert best_run(per_frame) == kept


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=12))
def test_a_span_is_the_best_of_all_runs(per_frame: list[float]) -> None:
    excess = exceed(per_frame)
    length = len(per_frame)
    runs = [excess[i : j + 1].sum() for i in range(length) for j in range(i, length)]
    kept = best_run(per_frame)
    assert kept == list(range(kept[0], kept[-1] + 1))
    assert excess[kept].sum() == pytest.approx(max(runs), abs=1e-6)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=10))
def test_of_equal_runs_it_is_the_last_and_as_long_as_it_can_be(excess: list[int]) -> None:
    length = len(excess)
    runs = [(stop, -start) for stop in range(1, length + 1) for start in range(stop)]
    best = max(runs, key=lambda run: (sum(excess[-run[1] : run[0]]), *run))
    assert find_best_run(np.array(excess, np.float64)) == (-best[1], best[0])
