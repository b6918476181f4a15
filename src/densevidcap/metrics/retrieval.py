"""How well scores find the clip of a sentence, the sentence of a clip, and the better sentence.

`scores` (S, C) are of S captions under C clips, `owners` (S,) the clips that they are of. A tie
counts against the scores where a rank is asked for, and as half where a share is.
"""

from __future__ import annotations

import numpy as np

from densevidcap.regions.objectives import IndexArray
from densevidcap.types import FloatArray

TOPS = (1, 5, 10)


def rank_clips(scores: FloatArray, owners: IndexArray) -> IndexArray:
    """(S,): how many other clips fit a caption at least as well as its own."""
    own = _take_own(scores, owners)
    return np.asarray((scores >= own[:, None]).sum(axis=1) - 1)


def rank_captions(scores: FloatArray, owners: IndexArray) -> IndexArray:
    """(C,): how many captions of other clips fit a clip at least as well as its own best."""
    is_own = owners[:, None] == np.arange(scores.shape[1])
    best = np.where(is_own, scores, -np.inf).max(axis=0)
    return np.asarray(((scores >= best) & ~is_own).sum(axis=0))


def recall(ranks: IndexArray, name: str) -> dict[str, float]:
    """Percent whose rank is among the first 1, 5 and 10."""
    return {f"{name}_at_{top}": 100 * float((ranks < top).mean()) for top in TOPS}


def area_under_curve(own: FloatArray, other: FloatArray) -> float:
    """P(a score of `own` is above one of `other`)."""
    ordered = np.sort(other)
    below = np.searchsorted(ordered, own, side="left")
    not_above = np.searchsorted(ordered, own, side="right")
    return float((below + not_above).mean() / 2 / len(other))


def agree(scores: FloatArray, worth: FloatArray) -> float:
    """Share of pairs of one clip's sentences (S,) of different worth that scores order rightly.

    NaN if no two differ.
    """
    better = worth[:, None] > worth
    differences = scores[:, None] - scores
    return float(np.mean((np.sign(differences[better]) + 1) / 2)) if better.any() else float("nan")


def split_own(scores: FloatArray, owners: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Scores of captions under their own clips (S,), and under all others (S * (C - 1),)."""
    is_own = owners[:, None] == np.arange(scores.shape[1])
    return scores[is_own], scores[~is_own]


def _take_own(scores: FloatArray, owners: IndexArray) -> FloatArray:
    return scores[np.arange(len(scores)), owners]
