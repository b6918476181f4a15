"""What is known of a few frames, at any time between them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from densevidcap.records import TimeArray

FloatValues = npt.NDArray[np.floating]


def pass_evenly(times: TimeArray, values: FloatValues, time: float) -> FloatValues:
    """(N,): (T, N) values of frames at times (T,), in even passage from one frame to the next.

    Before the first frame and after the last one their values hold.
    """
    after = int(np.searchsorted(times, time))
    before, after = max(0, after - 1), min(after, len(times) - 1)
    span = times[after] - times[before]
    share = np.clip((time - times[before]) / span, 0, 1) if span > 0 else 0.0
    return np.asarray(values[before] * (1 - share) + values[after] * share)
