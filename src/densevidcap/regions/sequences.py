"""K region-sequences of a clip: the most informative one first, each further one also different."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from densevidcap.records import FloatArray, FrameGrid, RegionSequence
from densevidcap.regions.objectives import (
    STEADY_WEIGHTS,
    Against,
    IndexArray,
    Objective,
    Scaling,
    Subset,
    Weights,
)
from densevidcap.regions.optimisers import OPTIMISERS


@dataclass(frozen=True)
class SequenceOptions:
    """How region-sequences are chosen."""

    k: int = 10
    """How many."""
    weights: Weights = STEADY_WEIGHTS
    """w_v; raise `diverse` for sequences that differ more."""
    against: Against = "nearest"
    """What a sequence must differ from: see `Objective`; the paper's is `all`."""
    scaling: Scaling = "clip"
    """What a weight of 1 means: see `Objective`."""
    optimiser: str = "frame-order"
    """A name in `OPTIMISERS`."""

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k must be at least 1, not {self.k}")
        if self.optimiser not in OPTIMISERS:
            raise ValueError(f"optimiser must be one of {', '.join(OPTIMISERS)}")

    def objective(self, clip: FrameGrid, words: IndexArray | None = None) -> Objective:
        """Of a clip's first sequence."""
        return Objective(
            clip, self.weights, against=self.against, scaling=self.scaling, words=words
        )


def generate_sequences(
    clip: FrameGrid,
    options: SequenceOptions | None = None,
    words: IndexArray | None = None,
) -> list[RegionSequence]:
    """The K region-sequences of a clip, through all of its frames (section 3.2).

    `words` makes a sentence's words alone count as information: the oracle's sequences.
    """
    options = options or SequenceOptions()
    search = OPTIMISERS[options.optimiser]
    objective = options.objective(clip, words)
    sequences = []
    for _ in range(options.k):
        subset = search(objective)
        sequences.append(_through_time(subset, clip))
        objective = objective.beside(subset)
    return sequences


def pool_words(sequences: Iterable[RegionSequence], clip: FrameGrid) -> FloatArray:
    """(K, W): the highest probability of each word along each sequence."""
    return np.stack(
        [
            clip.probabilities[list(sequence.frames), list(sequence.regions)].max(axis=0)
            for sequence in sequences
        ]
    )


def _through_time(subset: Subset, clip: FrameGrid) -> RegionSequence:
    frames, regions = zip(*sorted(subset.sites), strict=True)
    return RegionSequence(clip.grid, frames, regions, tuple(clip.times[list(frames)].tolist()))
