"""Section 3.2 of the paper transcribed line by line, slow and in float64, to test against."""

from __future__ import annotations

import math

import numpy as np

from densevidcap.regions.objectives import (
    SMOOTHING,
    Against,
    Float64Array,
    IndexArray,
    Scaling,
    Weights,
)
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


def f_div(
    clip: FrameGrid, sites: list[Site], chosen: list[list[Site]], against: Against = "all"
) -> float:
    """Sum over the chosen sequences of KL(p_i || q), or the nearest one's and new sites."""
    if not sites or not chosen:
        return 0.0
    q = distribution(clip, sites)
    divergences = []
    for earlier in chosen:
        p = distribution(clip, earlier)
        divergences.append(float(np.sum(p * np.log(p / q))))
    if against == "all":
        return sum(divergences)
    new = [site for site in sites if all(site not in earlier for earlier in chosen)]
    return min(divergences) + len(new) / len(clip.times)


def distribution(clip: FrameGrid, sites: list[Site]) -> Float64Array:
    """The words' maxima over the regions, smoothed and normalised over the lexicon."""
    frames, regions = zip(*sites, strict=True)
    p = clip.probabilities[list(frames), list(regions)].max(axis=0).astype(np.float64) + SMOOTHING
    return np.asarray(p / p.sum())


def terms(
    clip: FrameGrid,
    sites: list[Site],
    chosen: list[list[Site]],
    against: Against,
    words: IndexArray | None = None,
) -> Float64Array:
    """(3,): f_inf, f_div, f_coh."""
    return np.array(
        [f_inf(clip, sites, words), f_div(clip, sites, chosen, against), f_coh(clip, sites)]
    )


def scales(
    clip: FrameGrid,
    chosen: list[list[Site]],
    against: Against,
    scaling: Scaling,
    words: IndexArray | None = None,
) -> Float64Array:
    """(3,): what the terms are divided by."""
    if scaling == "paper":
        return np.ones(3)
    frames, regions = clip.probabilities.shape[:2]
    everything = [(frame, region) for frame in range(frames) for region in range(regions)]
    apart = [1 - cosine(clip, one, other) for one in everything for other in everything]
    pairs = max(frames * (frames - 1) / 2, 1)
    attainable = f_inf(clip, everything, words) or 1
    diverse = max(len(chosen), 1) if against == "all" else 1
    return np.array([attainable, diverse, pairs * max(float(np.mean(apart)), 1e-3)])


def search_in_frame_order(
    clip: FrameGrid,
    chosen: list[list[Site]],
    weights: Weights,
    against: Against,
    scaling: Scaling,
) -> list[Site]:
    """Eq. 8: from each frame the region of the largest marginal gain, beside the one before.

    Against the nearest, it starts in a region where no chosen sequence does, if there is one.
    """
    rates = np.array(weights) / scales(clip, chosen, against, scaling)
    old_starts = {earlier[0][1] for earlier in chosen} if against == "nearest" else set()
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
            with_region = terms(clip, [*path, (frame, region)], chosen, against)
            gain = float((with_region - terms(clip, path, chosen, against)) @ rates)
            if gain > best_gain:
                best, best_gain = region, gain
        assert best is not None
        path.append((frame, best))
    return path


def generate_sequences(
    clip: FrameGrid, k: int, weights: Weights, against: Against, scaling: Scaling
) -> list[list[Site]]:
    chosen: list[list[Site]] = []
    for _ in range(k):
        chosen.append(search_in_frame_order(clip, chosen, weights, against, scaling))
    return chosen


def touch(clip: FrameGrid, one: int, other: int) -> bool:
    """Whether two regions are the same or next to each other, diagonals included."""
    columns = clip.grid.columns
    return abs(one // columns - other // columns) <= 1 and abs(one % columns - other % columns) <= 1
