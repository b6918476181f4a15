"""From scores to probabilities: Platt's logistic calibration, and how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional as F

from densevidcap.types import FloatArray

Array = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Calibration:
    """P(right | score) = sigmoid(slope * score + offset)."""

    slope: float
    """Never negative: a better score never lowers the confidence."""
    offset: float

    def apply(self, scores: FloatArray) -> FloatArray:
        logits = self.slope * np.asarray(scores, np.float64) + self.offset
        # The tanh form of the sigmoid never overflows.
        return np.asarray(0.5 + 0.5 * np.tanh(0.5 * logits), np.float32)


def calibrate(right: FloatArray, wrong: FloatArray) -> Calibration:
    """The likeliest calibration for the scores of right and of wrong sentences, at even odds.

    Platt's targets, a little inside 0 and 1, keep the slope finite where scores part perfectly.
    """
    count = len(right), len(wrong)
    slope, offset = fit_logistic(
        np.concatenate([right, wrong]),
        np.repeat([(count[0] + 1) / (count[0] + 2), 1 / (count[1] + 2)], count),
        np.repeat([1 / each for each in count], count),
    )
    return Calibration(slope, offset) if slope > 0 else Calibration(0.0, 0.0)


def fit_logistic(scores: Array, targets: Array, weights: Array) -> tuple[float, float]:
    """(slope, offset) of the likeliest sigmoid for targets from 0 to 1; all are (N,)."""
    x, y, w = (torch.from_numpy(each.astype(np.float64)) for each in (scores, targets, weights))
    line = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([line], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        search.zero_grad()
        value = F.binary_cross_entropy_with_logits(line[0] * x + line[1], y, w, reduction="sum")
        value.backward()  # type: ignore[no-untyped-call]
        return value

    search.step(loss)  # type: ignore[no-untyped-call]
    slope, offset = line.tolist()
    return slope, offset


def measure_error(confidence: FloatArray, right: FloatArray, bins: int = 10) -> float:
    """Expected calibration error: how far confidence is from the share that is right.

    Averaged over bins of equal width, by how many sentences they hold.
    """
    places = np.minimum((confidence * bins).astype(np.intp), bins - 1)
    gaps = np.bincount(places, weights=confidence - right, minlength=bins)
    return float(np.abs(gaps).sum() / len(confidence))
