"""How well words are found in clips, and how different the regions of a frame are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densevidcap.types import FloatArray

BoolArray = npt.NDArray[np.bool_]


def average_precision(scores: FloatArray, labels: BoolArray) -> npt.NDArray[np.float64]:
    """AP of each word over clips: scores and labels (B, W) to (W,); NaN without a positive.

    Ties are broken by the clip's place, as a stable sort leaves them.
    """
    order = np.argsort(-scores, axis=0, kind="stable")
    hits = np.take_along_axis(labels, order, axis=0)
    ranks = np.arange(1, len(labels) + 1)[:, None]
    precision = np.cumsum(hits, axis=0) / ranks
    positives = hits.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray((precision * hits).sum(axis=0) / np.where(positives, positives, np.nan))


@dataclass(frozen=True)
class Detection:
    """Words said to be in a clip because their probability passes a threshold."""

    precision: float
    recall: float
    top_k: float
    """Share of a clip's words among its k most probable ones, k = how many it has."""

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(frozen=True)
class DetectionCounts:
    """The same of each clip (B,), to be added up over any of them."""

    found: npt.NDArray[np.float64]
    """Words that pass the threshold."""
    there: npt.NDArray[np.float64]
    """Words that a caption has."""
    right: npt.NDArray[np.float64]
    """Words that do both."""
    top: npt.NDArray[np.float64]
    """Share of its words among as many of its most probable ones; 0 of a clip without words."""

    def rate(self, draws: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """(N, 3): precision, recall and top k of N draws (N, B) of the clips."""
        found, there, right, top = (
            draws @ counts for counts in (self.found, self.there, self.right, self.top)
        )
        told = draws @ (self.there > 0)
        shares = (
            right / np.maximum(1, found),
            right / np.maximum(1, there),
            top / np.maximum(1, told),
        )
        return np.stack(shares, axis=1)


def count_detected(
    probabilities: FloatArray, labels: BoolArray, threshold: float = 0.5
) -> DetectionCounts:
    """Of probabilities and labels (B, W)."""
    found = probabilities > threshold
    tops = []
    for row, truth in zip(probabilities, labels, strict=True):
        count = int(truth.sum())
        best = np.argpartition(-row, max(0, count - 1))[:count]
        tops.append(float(truth[best].mean()) if count else 0.0)
    detected, there, right = (
        each.sum(axis=1).astype(float) for each in (found, labels, found & labels)
    )
    return DetectionCounts(detected, there, right, np.array(tops))


def detect(probabilities: FloatArray, labels: BoolArray, threshold: float = 0.5) -> Detection:
    """Word detection over clips (B, W)."""
    counts = count_detected(probabilities, labels, threshold)
    return Detection(*counts.rate(np.ones((1, len(labels))))[0].tolist())


def region_similarity(features: FloatArray) -> tuple[float, float]:
    """How alike a frame's regions are: features (N, R, D), a square grid of regions.

    The mean cosine of two regions of a frame, and of its opposite corners,
    after the mean over all frames was taken off, since features that are never
    negative are all alike without that.
    """
    centred = features - features.mean(axis=(0, 1))
    centred /= np.linalg.norm(centred, axis=-1, keepdims=True) + 1e-8
    cosine = np.einsum("nrd,nsd->rs", centred, centred) / len(centred)
    count = len(cosine)
    side = round(count**0.5)
    pairs = ~np.eye(count, dtype=bool)
    corners = (cosine[0, count - 1] + cosine[side - 1, count - side]) / 2
    return float(cosine[pairs].mean()), float(corners)
