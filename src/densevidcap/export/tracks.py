"""Captions in terms of the source's own frames, for tools that count frames instead of seconds."""

from __future__ import annotations

import numpy as np

from densevidcap.types import Box, Caption, TimeArray

LABEL = "region-sequence"
"""What annotation tools call the boxes."""

_TOLERANCE = 1e-6
"""Seconds by which a time may miss the frame that it was read from."""


def nearest_frame(times: TimeArray, time: float) -> int:
    """Index of the frame nearest to a time; `times` (N,) are when the source's frames appear."""
    after = min(int(np.searchsorted(times, time)), len(times) - 1)
    before = max(0, after - 1)
    return before if time - times[before] < times[after] - time else after


def frames_of(times: TimeArray, caption: Caption) -> range:
    """The frames that appear while the caption holds, or else the one that it holds on."""
    first, last = np.searchsorted(
        times, [caption.start - _TOLERANCE, caption.end - _TOLERANCE]
    ).tolist()
    if first == last:
        first = nearest_frame(times, caption.sequence.start)
    return range(first, max(last, first + 1))


def key_boxes(times: TimeArray, caption: Caption) -> dict[int, Box]:
    """Frame to box for each frame that was looked at."""
    sequence = caption.sequence
    return {
        nearest_frame(times, time): box
        for time, box in zip(sequence.times, sequence.boxes, strict=True)
    }
