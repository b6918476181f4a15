"""Search for region-sequences: the most informative one first, each further one also different.

An optimiser is a function from an `Objective` to a `Subset` with one region in each frame, each
beside the one before. Ties go to the first frame, then to the first region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from densevidcap.regions.objectives import (
    STEADY_WEIGHTS,
    Against,
    Float64Array,
    IndexArray,
    Objective,
    Scaling,
    Subset,
    Weights,
    informativeness,
)
from densevidcap.types import FloatArray, FrameGrid, RegionSequence

Optimiser = Callable[[Objective], Subset]
Cost = Literal["uniform", "benefit"]

EXHAUSTIVE_LIMIT = 1_000_000
"""Most paths that an exhaustive search looks at."""


def search_in_frame_order(objective: Objective, start: int | None = None) -> Subset:
    """In each frame, add the neighbour of the last region that gains most (Eq. 8): the default.

    The first region is the best of the objective's `starts`, or `start`.
    """
    beside = [np.flatnonzero(row) for row in objective.clip.grid.neighbours()]
    candidates = objective.starts if start is None else np.array([start])
    subset = objective.empty()
    for frame in range(objective.frames):
        subset = objective.extend(subset, frame, candidates).take_best()
        candidates = beside[subset.sites[-1][1]]
    return subset


def search_from_every_start(objective: Objective) -> Subset:
    """The best of the searches in frame order from each of the objective's `starts`."""
    searches = (search_in_frame_order(objective, int(start)) for start in objective.starts)
    return max(searches, key=objective.value)


def search_best_first(
    objective: Objective,
    cost: Cost = "uniform",
    *,
    budget: int | None = None,
    lazy: bool = True,
) -> Subset:
    """LazyForward of Algorithm 1: the site of highest gain first, wherever it is in the clip.

    Lazy search computes a gain again only when it leads. That is exact where gains can only shrink,
    so for f_inf alone; otherwise turn `lazy` off. With a budget any so many sites may be taken, as
    Algorithm 1 is printed; without, only those that a path through all frames can still join.
    """
    steps = objective.clip.grid.steps()
    subset = objective.empty()
    gains = _gains_everywhere(objective, subset)
    costs = (
        np.ones_like(gains) if cost == "uniform" else np.maximum(gains, np.finfo(np.float32).tiny)
    )
    is_open = np.ones(gains.shape, dtype=bool)
    for _ in range(objective.frames if budget is None else budget):
        if not lazy:
            gains = _gains_everywhere(objective, subset)
        is_current = np.full(gains.shape, not lazy)
        while True:
            best = int(np.argmax(np.where(is_open, gains / costs, -np.inf)))
            frame, region = divmod(best, objective.regions)
            extension = objective.extend(subset, frame, np.array([region]))
            if is_current[frame, region]:
                break
            gains[frame, region] = extension.gains[0]
            is_current[frame, region] = True
        subset = extension.take(0)
        is_open[frame, region] = False
        if budget is None:
            frames_apart = abs(np.arange(objective.frames) - frame)
            is_open &= (frames_apart[:, None] >= steps[region]) & (frames_apart[:, None] > 0)
    return subset


def search_by_celf(objective: Objective, *, budget: int | None = None) -> Subset:
    """Main of Algorithm 1: the better of uniform cost and cost benefit."""
    uniform = search_best_first(objective, "uniform", budget=budget)
    benefit = search_best_first(objective, "benefit", budget=budget)
    return max(uniform, benefit, key=objective.value)


def search_exhaustively(objective: Objective) -> Subset:
    """The best of all paths: for small cases."""
    neighbours = objective.clip.grid.neighbours()
    count = np.linalg.matrix_power(neighbours.astype(float), objective.frames - 1).sum()
    if count > EXHAUSTIVE_LIMIT:
        raise ValueError(f"{count:.1g} paths are too many to try: take another optimiser")
    beside = [np.flatnonzero(row) for row in neighbours]

    def walk(subset: Subset, candidates: IndexArray) -> Iterator[Subset]:
        if len(subset.sites) == objective.frames:
            yield subset
            return
        extension = objective.extend(subset, len(subset.sites), candidates)
        for candidate, region in enumerate(candidates):
            yield from walk(extension.take(candidate), beside[region])

    return max(walk(objective.empty(), np.arange(objective.regions)), key=objective.value)


OPTIMISERS: dict[str, Optimiser] = {
    "frame-order": search_in_frame_order,
    "every-start": search_from_every_start,
    "celf": search_by_celf,
    "exhaustive": search_exhaustively,
}


def _gains_everywhere(objective: Objective, subset: Subset) -> Float64Array:
    """(T, R): each site's gain, computed frame by frame to spare memory."""
    regions = np.arange(objective.regions)
    frames = range(objective.frames)
    return np.stack([objective.extend(subset, frame, regions).gains for frame in frames])


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
