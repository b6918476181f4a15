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


def detect(probabilities: FloatArray, labels: BoolArray, threshold: float = 0.5) -> Detection:
    """Word detection over clips (B, W).

    Precision is the share of detected words that a caption of the clip has,
    which is how we read the paper's "detecting accuracy" (43.1%): recall at
    0.5 is bounded by the rare words that no detector passes.
    """
    found = probabilities > threshold
    right = (found & labels).sum()
    shares = []
    for row, truth in zip(probabilities, labels, strict=True):
        if count := int(truth.sum()):
            shares.append(truth[np.argpartition(-row, count - 1)[:count]].mean())
    return Detection(
        precision=float(right / max(1, found.sum())),
        recall=float(right / max(1, labels.sum())),
        top_k=float(np.mean(shares)) if shares else 0.0,
    )


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
