"""Whether a figure, or the difference of two systems, is more than the luck of the clips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

ENDS = (0.025, 0.975)
"""Quantiles at the ends of a 95% interval."""


class Interval(NamedTuple):
    """A mean, or another figure, with the ends of its 95% interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def span(cls, figure: float, drawn: npt.NDArray[np.float64]) -> Interval:
        """Of a figure, by what it is in many draws of the videos (N,)."""
        low, high = np.quantile(drawn, ENDS)
        return cls(float(figure), float(low), float(high))


ROUNDS = 1000
"""Draws of the videos."""


def draw_videos(count: int, rounds: int = ROUNDS, seed: int = 0) -> npt.NDArray[np.float64]:
    """(N, B): how often each of so many videos is in each draw, of as many videos."""
    drawn = np.random.default_rng(seed).integers(count, size=(rounds, count))
    return np.stack([np.bincount(each, minlength=count) for each in drawn]).astype(float)


def bootstrap_difference(
    a: Mapping[str, float], b: Mapping[str, float], rounds: int = ROUNDS, seed: int = 0
) -> Interval:
    """How far `b` lies above `a`: paired bootstrap over the videos' scores.

    Both systems are scored on the same drawn videos, so what makes a video hard
    for both cancels out.
    """
    if a.keys() != b.keys():
        raise ValueError(f"scores of different videos: {sorted(a.keys() ^ b.keys())}")
    differences = np.array([b[video] - a[video] for video in a])
    drawn = draw_videos(len(differences), rounds, seed) @ differences / len(differences)
    return Interval.span(differences.mean(), drawn)


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
