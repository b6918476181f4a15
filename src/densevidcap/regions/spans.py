"""Region-sequences that start and end where they are informative."""

from __future__ import annotations

import numpy as np

from densevidcap.records import FrameGrid, RegionSequence
from densevidcap.regions.objectives import Float64Array, IndexArray, informativeness


def trim(
    sequence: RegionSequence,
    clip: FrameGrid,
    words: IndexArray | None = None,
    *,
    level: float = 0.5,
) -> RegionSequence:
    """The part of a sequence that is informative about the lexicon or about a sentence's words.

    Of all runs of frames it is the one whose informativeness exceeds `level` times that of the best
    frame by most in sum, so it bridges a short gap but not a long one. A sequence that is equally
    informative throughout stays whole, and so does one that says nothing of the words.
    """
    regions = clip.probabilities[list(sequence.frames), list(sequence.regions)]
    per_frame = informativeness(regions, words).astype(np.float64)
    start, stop = find_best_run(per_frame - level * per_frame.max())
    return RegionSequence(
        sequence.grid,
        sequence.frames[start:stop],
        sequence.regions[start:stop],
        sequence.times[start:stop],
    )


def find_best_run(excess: Float64Array) -> tuple[int, int]:
    """(start, stop) of the run with the highest sum; of equals, the longest."""
    before = np.concatenate([[0.0], np.cumsum(excess)])
    best_sums = before[1:] - np.minimum.accumulate(before)[:-1]
    stop = len(excess) - int(np.argmax(best_sums[::-1]))
    return int(np.argmin(before[:stop])), stop
