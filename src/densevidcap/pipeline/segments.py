"""Which stretches of a clip are described by themselves, and their frames."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from densevidcap.data.clip import Clip, Size
from densevidcap.data.sampling import Sampling, Shot, end_of
from densevidcap.data.shots import find_shots
from densevidcap.records import Frames

LONGEST = 60.0
"""Seconds: a longer clip is cut into its shots, and a longer shot into equal parts."""


def cut(clip: Clip, per_shot: bool | None = None) -> list[Shot]:
    """(start, end) of each segment, without gaps; `per_shot` None cuts long clips only."""
    end = end_of(clip.times())
    if per_shot is None:
        per_shot = end > LONGEST
    if not per_shot:
        return [(0.0, end)]
    return [part for shot in find_shots(clip) for part in _divide(shot)]


def _divide(shot: Shot) -> list[Shot]:
    start, end = shot
    parts = max(1, int(np.ceil((end - start) / LONGEST)))
    return list(pairwise(np.linspace(start, end, parts + 1).tolist()))


def sample_segment(clip: Clip, span: Shot, frames: int, size: Size) -> Frames | None:
    """Frames evenly spread over a segment; None if it has none that can be decoded."""
    times = clip.times()
    first, last = np.searchsorted(times, span).tolist()
    if first == last:
        return None
    chosen = first + Sampling(frames=frames).choose(times[first:last])
    # In place of a damaged frame comes the next intact one, maybe that of another segment.
    found = [(time, image) for time, image in clip.pick(chosen.tolist(), size) if time < span[1]]
    if not found:
        return None
    seconds, images = zip(*found, strict=True)
    return Frames(np.stack(images), np.array(seconds))
