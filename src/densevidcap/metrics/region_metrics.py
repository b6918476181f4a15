"""How informative, coherent and different a clip's region-sequences are, and what they follow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from densevidcap.regions.objectives import SMOOTHING, Float64Array
from densevidcap.regions.search import pool_words
from densevidcap.types import Box, FrameGrid, Grid, RegionSequence


class Quality(NamedTuple):
    """What K region-sequences of a clip are like, on average."""

    informative: float
    """A sequence's f_inf as a share of the whole clip's."""
    coherent: float
    """Cosine of the features of a sequence in two of its frames."""
    distinct: float
    """How many of the K there are without repeats."""
    overlap: float
    """Share of the frames in which two sequences are in the same region."""
    iou: float
    """Intersection over union of two sequences' boxes in a frame."""
    kl: float
    """KL divergence of two sequences' words, in nats."""
    nearest: float
    """KL divergence to a sequence's words from those that are nearest to them."""


def measure_quality(sequences: Sequence[RegionSequence], clip: FrameGrid) -> Quality:
    """For sequences through the same two or more frames; there must be two of them or more."""
    pooled = pool_words(sequences, clip).astype(np.float64)
    words = pooled + SMOOTHING
    words /= words.sum(axis=1, keepdims=True)
    divergences = np.array([[p @ np.log(p / q) for p in words] for q in words])
    to_others = divergences[~np.eye(len(words), dtype=bool)].reshape(len(words), -1)
    paths = [np.array(sequence.regions) for sequence in sequences]
    pairs = list(combinations(paths, 2))
    shared = _ious(clip.grid)
    return Quality(
        informative=float(pooled.sum(axis=1).mean() / clip.probabilities.max((0, 1)).sum()),
        coherent=float(np.mean([_cosine(sequence, clip) for sequence in sequences])),
        distinct=len({sequence.regions for sequence in sequences}),
        overlap=float(np.mean([one == other for one, other in pairs])),
        iou=float(np.mean([shared[one, other] for one, other in pairs])),
        kl=float(to_others.mean()),
        nearest=float(to_others.min(axis=1).mean()),
    )


def measure_following(sequence: RegionSequence, boxes: Sequence[Box]) -> float:
    """Share of a sequence's frames in which its region holds the centre of that frame's box."""
    held = 0
    for box, region in zip(boxes, sequence.boxes, strict=True):
        held += region.contains((box.left + box.right) / 2, (box.top + box.bottom) / 2)
    return held / len(boxes)


def _ious(grid: Grid) -> Float64Array:
    """(R, R): of every two regions' boxes."""
    boxes = [grid.box(region) for region in range(len(grid))]
    return np.array([[one.iou(other) for other in boxes] for one in boxes])


def _cosine(sequence: RegionSequence, clip: FrameGrid) -> float:
    """Mean over the pairs of different frames."""
    features = sequence.follow(clip.features).astype(np.float64)
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
    count = len(features)
    # The square of the sum has every pair twice, and each feature with itself.
    twice = np.square(features.sum(axis=0)).sum() - np.square(features).sum()
    return float(twice / (count * (count - 1)))
