"""What is known of frames, between them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.viz.canvas import lerp


@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats(-1, 1)), min_size=1, max_size=6),
    st.floats(-10, 110),
)
def test_values_pass_in_straight_lines_and_hold_at_the_ends(
    frames: list[tuple[float, float]], time: float
) -> None:
    known = dict(frames)
    times = sorted(known)
    values = np.array([[known[at], 2 * known[at]] for at in times])
    expected = np.interp(time, times, values[:, 0])
    found = lerp(np.array(times), values, time)
    np.testing.assert_allclose(found, [expected, 2 * expected], atol=1e-6)


def test_frames_of_one_time_do_no_harm() -> None:
    values = np.array([[1.0], [2.0]])
    assert lerp(np.array([3.0, 3.0]), values, 3.0) in (1.0, 2.0)
