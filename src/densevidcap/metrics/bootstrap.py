"""Whether a difference between two systems is more than the luck of the clips."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np


class Difference(NamedTuple):
    """A mean difference with the ends of its 95% interval."""

    mean: float
    low: float
    high: float


def bootstrap_difference(
    a: Mapping[str, float], b: Mapping[str, float], rounds: int = 1000, seed: int = 0
) -> Difference:
    """How far `b` lies above `a`: paired bootstrap over the videos' scores.

    Both systems are scored on the same drawn videos, so what makes a video hard
    for both cancels out.
    """
    if a.keys() != b.keys():
        raise ValueError(f"scores of different videos: {sorted(a.keys() ^ b.keys())}")
    differences = np.array([b[video] - a[video] for video in a])
    drawn = np.random.default_rng(seed).integers(len(differences), size=(rounds, len(differences)))
    low, high = np.quantile(differences[drawn].mean(axis=1), (0.025, 0.975))
    return Difference(float(differences.mean()), float(low), float(high))
