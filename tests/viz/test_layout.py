"""Room on a page."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from densevidcap.viz.canvas import choose_evenly


@given(st.integers(1, 200), st.integers(1, 12))
def test_frames_are_chosen_evenly(count: int, most: int) -> None:
    chosen = choose_evenly(count, most)
    assert len(chosen) == min(count, most)
    assert chosen == sorted(set(chosen))
    assert chosen[0] == 0
    if len(chosen) > 1:
        assert chosen[-1] == count - 1
        steps = [after - before for before, after in pairwise(chosen)]
        assert max(steps) - min(steps) <= 1
