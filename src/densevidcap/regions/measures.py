"""How informative, coherent and different a clip's region-sequences are, and what they follow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from densevidcap.records import Box, FrameGrid, RegionSequence
from densevidcap.regions.objectives import SMOOTHING
from densevidcap.regions.sequences import pool_words


class Quality(NamedTuple):
    """What K region-sequences of a clip are like, on average."""

    informativeness: float
    """A sequence's f_inf as a share of the whole clip's."""
    coherence: float
    """Cosine of the features of a sequence in two of its frames."""
    overlap: float
    """Share of the frames in which two sequences are in the same region."""
    divergence: float
    """KL divergence of two sequences' words, in nats."""
    distinct: float
    """How many of the K differ from all others."""


def measure_quality(sequences: Sequence[RegionSequence], clip: FrameGrid) -> Quality:
    """For sequences through the same two or more frames; there must be two of them or more."""
    pooled = pool_words(sequences, clip).astype(np.float64)
    words = pooled + SMOOTHING
    words /= words.sum(axis=1, keepdims=True)
    paths = [np.array(sequence.regions) for sequence in sequences]
    return Quality(
        informativeness=float(pooled.sum(axis=1).mean() / clip.probabilities.max((0, 1)).sum()),
        coherence=float(np.mean([_cosine(sequence, clip) for sequence in sequences])),
        overlap=float(np.mean([one == other for one, other in combinations(paths, 2)])),
        divergence=float(np.mean([p @ np.log(p / q) for p, q in permutations(words, 2)])),
        distinct=len({sequence.regions for sequence in sequences}),
    )


def measure_following(sequence: RegionSequence, boxes: Sequence[Box]) -> float:
    """Share of a sequence's frames in which its region holds the centre of that frame's box."""
    held = 0
    for frame, region in zip(sequence.frames, sequence.boxes, strict=True):
        box = boxes[frame]
        held += region.contains((box.left + box.right) / 2, (box.top + box.bottom) / 2)
    return held / len(sequence.frames)


def _cosine(sequence: RegionSequence, clip: FrameGrid) -> float:
    """Mean over the pairs of different frames."""
    features = clip.features[list(sequence.frames), list(sequence.regions)].astype(np.float64)
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
    count = len(features)
    # The square of the sum has every pair twice, and each feature with itself.
    twice = np.square(features.sum(axis=0)).sum() - np.square(features).sum()
    return float(twice / (count * (count - 1)))
