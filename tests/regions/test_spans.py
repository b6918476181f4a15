"""Sequences that start and end where they are informative."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.regions.clips import make_clip

from densevidcap.regions import SequenceOptions, generate_sequences, trim
from densevidcap.types import FrameGrid


def one_region(per_frame: list[float]) -> FrameGrid:
    """A clip of a single region and word."""
    clip = make_clip(0, frames=len(per_frame), rows=1, columns=1, words=1)
    clip.probabilities[:, 0, 0] = per_frame
    return clip


def trimmed_frames(per_frame: list[float], words: list[int] | None = None) -> list[int]:
    clip = one_region(per_frame)
    (sequence,) = generate_sequences(clip, SequenceOptions(k=1))
    span = trim(sequence, clip, None if words is None else np.array(words))
    assert span.start == clip.times[span.frames[0]]
    assert span.end == clip.times[span.frames[-1]]
    return list(span.frames)


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
    assert trimmed_frames(per_frame) == kept


def test_words_that_are_not_seen_leave_the_sequence_whole() -> None:
    assert trimmed_frames([0.05, 0.0, 0.09], words=[0]) == [0, 1, 2]


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=12))
def test_a_span_is_the_best_of_all_runs(per_frame: list[float]) -> None:
    clip = one_region(per_frame)
    excess = clip.probabilities[:, 0, 0].astype(float)
    excess -= excess.max() / 2
    length = len(per_frame)
    runs = [excess[i : j + 1].sum() for i in range(length) for j in range(i, length)]
    kept = trimmed_frames(per_frame)
    assert kept == list(range(kept[0], kept[-1] + 1))
    assert excess[kept].sum() == pytest.approx(max(runs), abs=1e-6)
