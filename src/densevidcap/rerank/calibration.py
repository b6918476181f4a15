"""From scores to probabilities: Platt's logistic calibration, and how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional as F

from densevidcap.records import FloatArray


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
    scores = torch.from_numpy(np.concatenate([right, wrong]).astype(np.float64))
    targets = torch.cat(
        [
            torch.full((len(right),), (len(right) + 1) / (len(right) + 2), dtype=torch.float64),
            torch.full((len(wrong),), 1 / (len(wrong) + 2), dtype=torch.float64),
        ]
    )
    weights = torch.cat(
        [torch.full_like(targets[: len(part)], 1 / len(part)) for part in (right, wrong)]
    )
    line = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([line], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        search.zero_grad()
        logits = line[0] * scores + line[1]
        value = F.binary_cross_entropy_with_logits(logits, targets, weights, reduction="sum")
        value.backward()  # type: ignore[no-untyped-call]
        return value

    search.step(loss)  # type: ignore[no-untyped-call]
    slope, offset = line.tolist()
    return Calibration(slope, offset) if slope > 0 else Calibration(0.0, 0.0)


def measure_error(confidence: FloatArray, right: FloatArray, bins: int = 10) -> float:
    """Expected calibration error: how far confidence is from the share that is right.

    Averaged over bins of equal width, by how many sentences they hold.
    """
    places = np.minimum((confidence * bins).astype(np.intp), bins - 1)
    gaps = np.bincount(places, weights=confidence - right, minlength=bins)
    return float(np.abs(gaps).sum() / len(confidence))
