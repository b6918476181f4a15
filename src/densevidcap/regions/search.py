"""Search for region-sequences: the most informative one first, each further one also different.

A search is a function from an `Objective` to a `Subset` with one region in each frame, each beside
the one before. Ties go to the first frame, then to the first region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np

from densevidcap.config import RegionsConfig
from densevidcap.errors import ModelError
from densevidcap.regions.objectives import (
    BoolArray,
    Float64Array,
    IndexArray,
    Objective,
    Subset,
    check_terms,
)
from densevidcap.types import FloatArray, FrameGrid, Grid, RegionSequence, list_source_frames

Search = Callable[[Objective], Subset]
Cost = Literal["uniform", "benefit"]


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


def search_lazily(
    objective: Objective,
    cost: Cost,
    budget: int,
    *,
    free: bool = False,
    lazy: bool = True,
) -> Subset:
    """LazyForward of Algorithm 1: `budget` times the site of highest gain, wherever it is.

    Sites are such that a path through all frames can join them; if they are `free`, any, as
    Algorithm 1 is printed. A gain is computed again only when it leads. That is exact where gains
    can only shrink, so for informativeness alone; to compute them all every time, turn `lazy` off.
    """
    subset = objective.empty()
    gains = _gains_everywhere(objective, subset)
    costs = (
        np.ones_like(gains) if cost == "uniform" else np.maximum(gains, np.finfo(np.float32).tiny)
    )
    is_open = np.ones(gains.shape, dtype=bool)
    for _ in range(budget):
        if not lazy:
            gains = _gains_everywhere(objective, subset)
        is_current = np.full(gains.shape, not lazy)
        while True:
            best = int(np.argmax(np.where(is_open, gains / costs, -np.inf)))
            frame, region = divmod(best, objective.regions)
            candidate = objective.extend(subset, frame, np.array([region]))
            if is_current[frame, region]:
                break
            gains[frame, region] = candidate.gains[0]
            is_current[frame, region] = True
        subset = candidate.take(0)
        is_open[frame, region] = False
        if not free:
            is_open &= _list_reachable(objective, frame, region)
    return subset


def search_by_celf(objective: Objective) -> Subset:
    """Main of Algorithm 1: the better of uniform cost and cost benefit, with the config's budget.

    Frames that the budget leaves empty are then filled, in their order, on the way between.
    """
    budget = min(objective.config.budget or objective.frames, objective.frames)
    costs: tuple[Cost, ...] = ("uniform", "benefit")
    searches = [search_lazily(objective, cost, budget) for cost in costs]
    return _fill(objective, max(searches, key=objective.value))


def _fill(objective: Objective, subset: Subset) -> Subset:
    """The subset with the region of highest gain in every frame that it lacks, as one path."""
    is_open = np.ones((objective.frames, objective.regions), dtype=bool)
    for site in subset.sites:
        is_open &= _list_reachable(objective, *site)
    for frame in sorted(set(range(objective.frames)) - {frame for frame, _ in subset.sites}):
        subset = objective.extend(subset, frame, np.flatnonzero(is_open[frame])).take_best()
        is_open &= _list_reachable(objective, *subset.sites[-1])
    return subset


def _list_reachable(objective: Objective, frame: int, region: int) -> BoolArray:
    """(T, R): the sites of other frames that a path through this one can go to."""
    frames_apart = abs(np.arange(objective.frames) - frame)[:, None]
    steps = objective.clip.grid.steps()[region]
    return np.asarray((frames_apart >= steps) & (frames_apart > 0))


SEARCHES: dict[str, Search] = {
    "frame-order": search_in_frame_order,
    "every-start": search_from_every_start,
    "celf": search_by_celf,
}
"""By the names that `RegionsConfig.search` gives them."""


def _gains_everywhere(objective: Objective, subset: Subset) -> Float64Array:
    """(T, R): each site's gain, computed frame by frame to spare memory."""
    regions = np.arange(objective.regions)
    frames = range(objective.frames)
    return np.stack([objective.extend(subset, frame, regions).gains for frame in frames])


def check_regions(config: RegionsConfig) -> None:
    """Refuse terms and searches that there are not, before any work is done for them."""
    check_terms(config)
    if config.search not in SEARCHES:
        raise ModelError(
            f"no search '{config.search}' for regions.search: there are {', '.join(SEARCHES)}"
        )


def count_sequences(config: RegionsConfig, grid: Grid) -> int:
    """K: where a frame is one region, there is but one sequence to find."""
    return config.k if len(grid) > 1 else 1


def generate_sequences(
    clip: FrameGrid,
    config: RegionsConfig | None = None,
    words: IndexArray | None = None,
) -> list[RegionSequence]:
    """The K region-sequences of a clip, through all of its frames (section 3.2).

    `words` makes a sentence's words alone count as information: the oracle's sequences. Where a
    frame is one region, there is one sequence, and nothing to search.
    """
    config = config or RegionsConfig()
    check_regions(config)
    if len(clip.grid) == 1:
        return [_lead_through(clip, (0,) * len(clip.times))]
    search = SEARCHES[config.search]
    objective = Objective(clip, config, words)
    sequences = []
    for _ in range(count_sequences(config, clip.grid)):
        subset = search(objective)
        sequences.append(_through_time(subset, clip))
        objective = objective.beside(subset)
    return sequences


def pool_words(sequences: Iterable[RegionSequence], clip: FrameGrid) -> FloatArray:
    """(K, W): the highest probability of each word along each sequence."""
    return np.stack([sequence.follow(clip.probabilities).max(axis=0) for sequence in sequences])


def _through_time(subset: Subset, clip: FrameGrid) -> RegionSequence:
    _, regions = zip(*sorted(subset.sites), strict=True)
    return _lead_through(clip, regions)


def _lead_through(clip: FrameGrid, regions: tuple[int, ...]) -> RegionSequence:
    source_frames = list_source_frames(clip.source_frames)
    return RegionSequence(clip.grid, regions, tuple(clip.times.tolist()), source_frames)


def find_best_run(excess: Float64Array) -> tuple[int, int]:
    """(start, stop) of the run with the highest sum; of equals, the last, as long as it can be."""
    before = np.concatenate([[0.0], np.cumsum(excess)])
    best_sums = before[1:] - np.minimum.accumulate(before)[:-1]
    stop = len(excess) - int(np.argmax(best_sums[::-1]))
    return int(np.argmin(before[:stop])), stop
