"""Whether a figure, or the difference of two systems, is more than the luck of the clips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

ENDS = (0.025, 0.975)
"""Quantiles at the ends of a 95% interval."""


class Interval(NamedTuple):
    """A mean with the ends of its 95% interval."""

    mean: float
    low: float
    high: float


def bootstrap_difference(
    a: Mapping[str, float], b: Mapping[str, float], rounds: int = 1000, seed: int = 0
) -> Interval:
    """How far `b` lies above `a`: paired bootstrap over the videos' scores.

    Both systems are scored on the same drawn videos, so what makes a video hard
    for both cancels out.
    """
    if a.keys() != b.keys():
        raise ValueError(f"scores of different videos: {sorted(a.keys() ^ b.keys())}")
    differences = np.array([b[video] - a[video] for video in a])
    drawn = np.random.default_rng(seed).integers(len(differences), size=(rounds, len(differences)))
    low, high = np.quantile(differences[drawn].mean(axis=1), ENDS)
    return Interval(float(differences.mean()), float(low), float(high))


def bootstrap_mean(
    values: npt.NDArray[np.float64], clips: Sequence[str], rounds: int = 1000, seed: int = 0
) -> Interval:
    """The mean of values, of which several may be of one clip: whole clips are drawn.

    What is seen in one frame is seen in the next, so single values would promise too much.
    """
    places = {clip: place for place, clip in enumerate(dict.fromkeys(clips))}
    of_clip = np.array([places[clip] for clip in clips])
    sums, counts = np.bincount(of_clip, values), np.bincount(of_clip)
    drawn = np.random.default_rng(seed).integers(len(places), size=(rounds, len(places)))
    low, high = np.quantile(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), ENDS)
    return Interval(float(values.mean()), float(low), float(high))
