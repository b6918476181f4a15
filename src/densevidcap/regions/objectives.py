"""What makes a region-sequence good: informative, diverse, coherent (Eq. 4-5, section 3.2.3).

A sequence A is a set of sites (frame, region), and R(A) = w_v . [f_inf(A), f_div(A), f_coh(A)]:

    f_inf(A) = sum_w p^w                    p^w is the maximum of p^w over A's regions
    f_div(A) = sum_i KL(p_i || q)           q is A's p^w, p_i that of the i-th sequence already
                                            chosen, both smoothed and normalised over the lexicon
    f_coh(A) = sum_{r, s in A} <x_r, x_s>   over pairs of different regions, x of unit length

with f(empty) = 0. The paper prints f_coh for the newest region alone: the gain of this one.

By the paper's f_div a repeat of one sequence is as good as new if it is far from the others, and
sequences alternate: A B A B. Ours has nothing left for a repeat, neither of words nor of place:

    f_div(A) = min_i KL(p_i || q) + the share of the frames whose site no chosen sequence has

f_inf is monotone and submodular, the share of new sites modular. f_coh is supermodular where
features are not negative, and the divergences are neither monotone nor submodular, so the promises
of greedy and lazy search hold for f_inf alone.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from densevidcap.types import FloatArray, FrameGrid

IndexArray = npt.NDArray[np.intp]
Float64Array = npt.NDArray[np.float64]
Scaling = Literal["clip", "paper"]
Against = Literal["nearest", "all"]

THRESHOLD = 0.1
"""theta of Eq. 10: a word of a sentence counts from this probability on."""

SMOOTHING = 1e-6
"""Added to each word's probability before they are normalised to a distribution."""

ROUNDING = 1e-6
"""Gains that differ by less, or by this share, count as equal."""

SMALLEST_SPREAD = 1e-3
"""Regions that are more alike than this count as equal."""


class Weights(NamedTuple):
    """w_v: how much each term of the objective counts; none may be negative."""

    informative: float = 1.0
    diverse: float = 1.0
    coherent: float = 1.0


EQUAL_WEIGHTS = Weights()
"""Where the paper's learning of w_v starts."""

STEADY_WEIGHTS = Weights(coherent=8.0)
"""The default, by measurement: sequences that stay on a thing, for a little less information."""


def informativeness(pooled: FloatArray, words: IndexArray | None = None) -> FloatArray:
    """f_inf of max-pooled probabilities (C, W), over the lexicon or a sentence's words (Eq. 10)."""
    if words is None:
        # einsum sums faster than sum, and equal rows to equal sums.
        return np.asarray(np.einsum("cw->c", pooled))
    said = pooled[:, words]
    return np.asarray(np.where(said >= THRESHOLD, said, 0).sum(axis=1))


@dataclass(frozen=True)
class Subset:
    """Sites selected so far, with the running sums that make the next gain cheap."""

    sites: tuple[tuple[int, int], ...]
    """(frame, region), in order of selection."""
    terms: Float64Array
    """(3,): f_inf, f_div, f_coh."""
    pooled: FloatArray
    """(W,): the maximum of each word's probability."""
    direction: FloatArray
    """(D,): the sum of unit features; f_coh gains <x, direction> when x joins."""
    fresh: int
    """How many of the sites no chosen sequence has."""


@dataclass(frozen=True)
class Chosen:
    """The N sequences already chosen: their words and their sites."""

    distributions: FloatArray
    """(N, W): p_i."""
    negative_entropies: Float64Array
    """(N,): p_i . log p_i."""
    taken: npt.NDArray[np.bool_]
    """(T, R): whether one of them has the site."""

    @classmethod
    def none(cls, clip: FrameGrid) -> Chosen:
        frames, regions, words = clip.probabilities.shape
        return cls(np.empty((0, words), np.float32), np.empty(0), np.zeros((frames, regions), bool))

    def __len__(self) -> int:
        return len(self.distributions)

    def with_sequence(self, sequence: Subset) -> Chosen:
        """And one more."""
        p = sequence.pooled.astype(np.float64) + SMOOTHING
        p /= p.sum()
        taken = self.taken.copy()
        taken[tuple(zip(*sequence.sites, strict=True))] = True
        return Chosen(
            np.vstack([self.distributions, p.astype(np.float32)]),
            np.append(self.negative_entropies, p @ np.log(p)),
            taken,
        )

    def diverge(self, pooled: FloatArray, mass: FloatArray) -> Float64Array:
        """KL(p_i || q) (C, N) of candidates' max-pooled probabilities (C, W) with sums (C,).

        As p_i . log p_i - p_i . log q, so a frame costs one logarithm and one product. Overwrites
        `pooled`: the loop over frames is as fast as the cache that its arrays fit into.
        """
        pooled += np.float32(SMOOTHING)
        log_q = np.log(pooled, out=pooled)
        log_mass = np.log(mass.astype(np.float64) + SMOOTHING * pooled.shape[1])
        cross = log_q @ self.distributions.T - log_mass[:, None]
        return np.asarray(self.negative_entropies - cross)


@dataclass(frozen=True)
class Extension:
    """The ways to extend a subset by one of C regions of a frame, computed together."""

    objective: Objective
    subset: Subset
    frame: int
    regions: IndexArray
    """(C,): the candidates."""
    terms: Float64Array
    """(C, 3): the subset's `terms` with each candidate."""
    fresh: IndexArray
    """(C,): the subset's `fresh` with each candidate."""

    @property
    def gains(self) -> Float64Array:
        """(C,): the marginal gain L(w_v; r) of each candidate (Eq. 7)."""
        return np.asarray((self.terms - self.subset.terms) @ self.objective.rates)

    @property
    def term_gains(self) -> Float64Array:
        """(C, 3): what each candidate adds to each term, scaled but not weighted."""
        return (self.terms - self.subset.terms) / self.objective.scales

    def take(self, candidate: int) -> Subset:
        """The subset with this candidate in it."""
        site = self.frame, int(self.regions[candidate])
        return Subset(
            (*self.subset.sites, site),
            self.terms[candidate],
            np.maximum(self.subset.pooled, self.objective.clip.probabilities[site]),
            self.subset.direction + self.objective.unit_feature(site),
            int(self.fresh[candidate]),
        )

    def take_best(self) -> Subset:
        """The subset with the candidate of highest gain; of equals, the first."""
        gains = self.gains
        best = gains.max()
        # A product of matrices rounds equal rows differently by their place.
        return self.take(int((gains >= best - ROUNDING * max(1, abs(best))).argmax()))


class Objective:
    """R(A) for one clip, given the sequences that have been chosen from it (Eq. 4-5)."""

    def __init__(
        self,
        clip: FrameGrid,
        weights: Weights = EQUAL_WEIGHTS,
        *,
        against: Against = "nearest",
        scaling: Scaling = "clip",
        words: IndexArray | None = None,
    ) -> None:
        """`words` are those that f_inf counts: a sentence's, or the whole lexicon if None.

        f_div is ours against the `nearest` chosen sequence, or the paper's against `all` of them.

        Scaling `paper` takes the terms as they are. Scaling `clip` makes a weight mean the same for
        any clip, lexicon, network and k: f_inf is the share of what the whole clip has, the paper's
        f_div the mean over the chosen sequences, and f_coh the mean over the sequence's pairs in
        units of how far (1 - cosine) two regions of the clip are apart on average.
        """
        if min(weights) < 0:
            raise ValueError(f"weights must not be negative: {weights}")
        self.clip = clip
        self.weights = weights
        self.against = against
        self.scaling = scaling
        self.words = words
        self.frames, self.regions = clip.probabilities.shape[:2]
        # einsum squares without a second array as large as the features.
        squares = np.einsum("trd,trd->tr", clip.features, clip.features)
        self._lengths = np.sqrt(np.maximum(squares, np.finfo(np.float32).tiny))
        everything = clip.probabilities.max(axis=(0, 1))
        self._attainable = float(informativeness(everything[None], words)[0])
        middle = np.tensordot(1 / self._lengths, clip.features, axes=2) / self._lengths.size
        self._spread = 1 - float(middle @ middle)
        self._choose(Chosen.none(clip))

    def _choose(self, chosen: Chosen) -> None:
        self.chosen = chosen
        pairs = self.frames * (self.frames - 1) // 2
        self.scales = np.ones(3)
        """(3,): what each term is divided by."""
        if self.scaling == "clip":
            diverse = max(len(chosen), 1) if self.against == "all" else 1
            coherent = max(pairs, 1) * max(self._spread, SMALLEST_SPREAD)
            self.scales[:] = self._attainable or 1, diverse, coherent
        self.rates = np.array(self.weights) / self.scales
        """(3,): what one more of each term is worth."""

    def beside(self, sequence: Subset) -> Objective:
        """The objective of the next sequence, now that this one is chosen."""
        following = copy(self)
        following._choose(self.chosen.with_sequence(sequence))
        return following

    @property
    def starts(self) -> IndexArray:
        """Regions to start in: against the nearest, those where none did, while there are any.

        The first region brings most of a sequence's information, so a search frame by frame would
        start in the best place again and again, whatever it does to f_div.
        """
        new = np.flatnonzero(~self.chosen.taken[0])
        return new if self.against == "nearest" and len(new) else np.arange(self.regions)

    def empty(self) -> Subset:
        pooled = np.zeros(self.clip.probabilities.shape[2], np.float32)
        direction = np.zeros(self.clip.features.shape[2], np.float32)
        return Subset((), np.zeros(3), pooled, direction, fresh=0)

    def extend(self, subset: Subset, frame: int, regions: IndexArray) -> Extension:
        """What each of `regions` (C,) of a frame would make of the subset."""
        pooled = self.clip.probabilities[frame].take(regions, axis=0)
        np.maximum(pooled, subset.pooled, out=pooled)
        mass = informativeness(pooled)
        fresh = subset.fresh + ~self.chosen.taken[frame].take(regions)
        cosines = self.clip.features[frame].take(regions, axis=0) @ subset.direction
        terms = np.empty((len(regions), 3))
        terms[:, 0] = mass if self.words is None else informativeness(pooled, self.words)
        terms[:, 1] = self._differ(pooled, mass, fresh)
        terms[:, 2] = subset.terms[2] + cosines / self._lengths[frame].take(regions)
        return Extension(self, subset, frame, regions, terms, fresh)

    def _differ(self, pooled: FloatArray, mass: FloatArray, fresh: IndexArray) -> Float64Array:
        """f_div (C,) of candidates; overwrites `pooled`."""
        if not len(self.chosen):
            return np.zeros(len(pooled))
        divergences = self.chosen.diverge(pooled, mass)
        if self.against == "all":
            return np.asarray(divergences.sum(axis=1))
        return np.asarray(divergences.min(axis=1) + fresh / self.frames)

    def value(self, subset: Subset) -> float:
        """R(A)."""
        return float(subset.terms @ self.rates)

    def unit_feature(self, site: tuple[int, int]) -> FloatArray:
        """(D,): the feature of a (frame, region), of length 1."""
        return np.asarray(self.clip.features[site] / self._lengths[site])
