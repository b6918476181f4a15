"""Section 3.2 of the paper transcribed line by line, slow and in float64, to test against."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from densevidcap.config import RegionsConfig
from densevidcap.regions.objectives import SMOOTHING, Float64Array, IndexArray, Objective, Subset
from densevidcap.types import FrameGrid

Site = tuple[int, int]
"""(frame, region)."""


def f_inf(clip: FrameGrid, sites: list[Site], words: IndexArray | None = None) -> float:
    """Sum over words of the maximum over regions; of a sentence's words, those from 0.1 on."""
    total = 0.0
    for word in range(clip.probabilities.shape[2]) if words is None else words:
        p = max((float(clip.probabilities[site][word]) for site in sites), default=0.0)
        if words is None or p >= np.float32(0.1):
            total += p
    return total


def f_coh(clip: FrameGrid, sites: list[Site]) -> float:
    """Sum over pairs of the cosine of features."""
    return sum(cosine(clip, sites[t], sites[s]) for t in range(len(sites)) for s in range(t))


def cosine(clip: FrameGrid, one: Site, other: Site) -> float:
    x, y = clip.features[one].astype(float), clip.features[other].astype(float)
    return float(x @ y) / math.sqrt(float(x @ x) * float(y @ y))


def divergences(clip: FrameGrid, sites: list[Site], chosen: list[list[Site]]) -> list[float]:
    """KL(p_i || q) for each of the chosen sequences."""
    q = distribution(clip, sites)
    ps = [distribution(clip, earlier) for earlier in chosen]
    return [float(np.sum(p * np.log(p / q))) for p in ps]


def f_div(clip: FrameGrid, sites: list[Site], chosen: list[list[Site]]) -> float:
    """Sum over the chosen sequences of KL(p_i || q)."""
    return sum(divergences(clip, sites, chosen)) if sites else 0.0


def f_nearest(clip: FrameGrid, sites: list[Site], chosen: list[list[Site]]) -> float:
    """KL(p_i || q) of the nearest one, and the share of new sites."""
    if not sites or not chosen:
        return 0.0
    new = [site for site in sites if all(site not in earlier for earlier in chosen)]
    return min(divergences(clip, sites, chosen)) + len(new) / len(clip.times)


def distribution(clip: FrameGrid, sites: list[Site]) -> Float64Array:
    """The words' maxima over the regions, smoothed and normalised over the lexicon."""
    frames, regions = zip(*sites, strict=True)
    p = clip.probabilities[list(frames), list(regions)].max(axis=0).astype(np.float64) + SMOOTHING
    return np.asarray(p / p.sum())


def terms(
    clip: FrameGrid,
    sites: list[Site],
    chosen: list[list[Site]],
    config: RegionsConfig,
    words: IndexArray | None = None,
) -> Float64Array:
    """The value of each of the config's terms."""
    values = {
        "informativeness": f_inf(clip, sites, words),
        "divergence": f_div(clip, sites, chosen),
        "nearest_divergence": f_nearest(clip, sites, chosen),
        "coherence": f_coh(clip, sites),
    }
    return np.array([values[name] for name in config.terms])


def scales(
    clip: FrameGrid,
    chosen: list[list[Site]],
    config: RegionsConfig,
    words: IndexArray | None = None,
) -> Float64Array:
    """What the terms are divided by."""
    if config.scaling == "paper":
        return np.ones(len(config.terms))
    frames, regions = clip.probabilities.shape[:2]
    everything = [(frame, region) for frame in range(frames) for region in range(regions)]
    apart = [1 - cosine(clip, one, other) for one in everything for other in everything]
    pairs = max(frames * (frames - 1) / 2, 1)
    values = {
        "informativeness": f_inf(clip, everything, words) or 1,
        "divergence": max(len(chosen), 1),
        "nearest_divergence": 1,
        "coherence": pairs * max(float(np.mean(apart)), 1e-3),
    }
    return np.array([values[name] for name in config.terms])


def search_in_frame_order(
    clip: FrameGrid, chosen: list[list[Site]], config: RegionsConfig
) -> list[Site]:
    """Eq. 8: from each frame the region of the largest marginal gain, beside the one before.

    Against the nearest, it starts in a region where no chosen sequence does, if there is one.
    """
    rates = np.array([*config.terms.values()]) / scales(clip, chosen, config)
    nearest = "nearest_divergence" in config.terms
    old_starts = {earlier[0][1] for earlier in chosen} if nearest else set()
    if len(old_starts) == len(clip.grid):
        old_starts = set()
    path: list[Site] = []
    for frame in range(len(clip.times)):
        best, best_gain = None, -math.inf
        for region in range(len(clip.grid)):
            if not path and region in old_starts:
                continue
            if path and not touch(clip, path[-1][1], region):
                continue
            with_region = terms(clip, [*path, (frame, region)], chosen, config)
            gain = float((with_region - terms(clip, path, chosen, config)) @ rates)
            if gain > best_gain:
                best, best_gain = region, gain
        assert best is not None
        path.append((frame, best))
    return path


def search_exhaustively(objective: Objective) -> Subset:
    """The best of all paths."""
    beside = [np.flatnonzero(row) for row in objective.clip.grid.neighbours()]

    def walk(subset: Subset, regions: IndexArray) -> Iterator[Subset]:
        if len(subset.sites) == objective.frames:
            yield subset
            return
        candidates = objective.extend(subset, len(subset.sites), regions)
        for candidate, region in enumerate(regions):
            yield from walk(candidates.take(candidate), beside[region])

    return max(walk(objective.empty(), np.arange(objective.regions)), key=objective.value)


def generate_sequences(clip: FrameGrid, config: RegionsConfig) -> list[list[Site]]:
    chosen: list[list[Site]] = []
    for _ in range(config.k):
        chosen.append(search_in_frame_order(clip, chosen, config))
    return chosen


def touch(clip: FrameGrid, one: int, other: int) -> bool:
    """Whether two regions are the same or next to each other, diagonals included."""
    columns = clip.grid.columns
    return abs(one // columns - other // columns) <= 1 and abs(one % columns - other % columns) <= 1
