"""What makes a region-sequence good: a list of terms, each with its weight (Eq. 4-5, Sec. 3.2.3).

A sequence A is a set of sites (frame, region), and R(A) = sum of w f(A) over the terms:

    informativeness      sum_w p^w              p^w is the maximum of p^w over A's regions
    divergence           sum_i KL(p_i || q)     q is A's p^w, p_i that of the i-th sequence already
                                                chosen, both smoothed and normalised over all words
    nearest_divergence   min_i KL(p_i || q) + the share of the frames whose site no chosen one has
    coherence            sum <x_r, x_s>         over pairs of different regions, x of unit length

with f(empty) = 0. The paper prints coherence for the newest region alone: the gain of this one.

By the paper's divergence a repeat of one sequence is as good as new if it is far from the others,
and sequences alternate: A B A B. Ours, the nearest, has nothing left for a repeat, neither of words
nor of place.

Informativeness is monotone and submodular, the share of new sites modular. Coherence is
supermodular where features are not negative, and the divergences are neither monotone nor
submodular, so the promises of greedy and lazy search hold for informativeness alone.

Another term is another class below and a line in `TERMS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from densevidcap.config import RegionsConfig
from densevidcap.errors import ModelError
from densevidcap.types import FloatArray, FrameGrid

BoolArray = npt.NDArray[np.bool_]
IndexArray = npt.NDArray[np.intp]
Float64Array = npt.NDArray[np.float64]

SMOOTHING = 1e-6
"""Added to each word's probability before they are normalised to a distribution."""

ROUNDING = 1e-6
"""Gains that differ by less, or by this share, count as equal."""

SMALLEST_SPREAD = 1e-3
"""Regions that are more alike than this count as equal."""


def informativeness(
    pooled: FloatArray, words: IndexArray | None = None, threshold: float = 0.0
) -> FloatArray:
    """(C,): the sum of max-pooled probabilities (C, W) over the lexicon (Eq. 11).

    Or over a sentence's `words`, each of which counts from the threshold on (Eq. 10).
    """
    if words is None:
        # einsum sums faster than sum, and equal rows to equal sums.
        return np.asarray(np.einsum("cw->c", pooled))
    said = pooled[:, words]
    return np.asarray(np.where(said >= threshold, said, 0).sum(axis=1))


@dataclass(frozen=True)
class Subset:
    """Sites selected so far, with the running sums that make the next gain cheap."""

    sites: tuple[tuple[int, int], ...]
    """(frame, region), in order of selection."""
    values: Float64Array
    """One for each term."""
    pooled: FloatArray
    """(W,): the maximum of each word's probability."""
    running: Sequence[Any]
    """What each term keeps for itself."""


@dataclass(frozen=True)
class Chosen:
    """The N sequences already chosen: their words and their sites."""

    distributions: FloatArray
    """(N, W): p_i."""
    negative_entropies: Float64Array
    """(N,): p_i . log p_i."""
    taken: BoolArray
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


class Term:
    """One term f of the objective of one clip, which counts by its weight."""

    def __init__(
        self,
        index: int,
        weight: float,
        clip: FrameGrid,
        config: RegionsConfig,
        words: IndexArray | None = None,
    ) -> None:
        """The term at that index; `words` are a sentence's, where sequences are sought for one."""
        self.index, self.weight = index, weight
        self.clip, self.config, self.words = clip, config, words
        self.chosen = Chosen.none(clip)

    def values(self, candidates: Candidates) -> FloatArray | Float64Array:
        """(C,): f of the subset with each candidate; its gain is what that exceeds f before by."""
        raise NotImplementedError

    @property
    def scale(self) -> float:
        """What f is divided by under scaling `clip`, so that a weight means the same for any."""
        return 1.0

    @property
    def starts(self) -> BoolArray:
        """(R,): in which regions a sequence may start."""
        return np.ones(len(self.clip.grid), bool)

    def carry(self, candidates: Candidates | None = None, candidate: int = 0) -> Any:
        """What the term keeps of an empty subset, or of one with that candidate, if anything.

        It finds it in the subset's `running`, at its own index.
        """


class Informativeness(Term):
    """How much is seen at all (Eq. 11), or of a sentence's words (Eq. 10)."""

    def values(self, candidates: Candidates) -> FloatArray:
        return candidates.mass if self.words is None else self._count(candidates.pooled)

    @property
    def scale(self) -> float:
        """What the whole clip has: the term is a share of it."""
        return self._attainable or 1.0

    @cached_property
    def _attainable(self) -> float:
        return float(self._count(self.clip.probabilities.max(axis=(0, 1))[None])[0])

    def _count(self, pooled: FloatArray) -> FloatArray:
        return informativeness(pooled, self.words, self.config.threshold)


class Divergence(Term):
    """How far the words are from those of all chosen sequences (Eq. 13)."""

    def values(self, candidates: Candidates) -> Float64Array:
        return np.asarray(candidates.divergences.sum(axis=1))

    @property
    def scale(self) -> float:
        """Their number: the term is a mean over them."""
        return max(len(self.chosen), 1)


class NearestDivergence(Term):
    """How far the words are from those of the nearest chosen sequence, and how new the sites."""

    def values(self, candidates: Candidates) -> Float64Array:
        if not len(self.chosen):
            return np.zeros(len(candidates.regions))
        new = candidates.subset.running[self.index] + ~self.chosen.taken[candidates.frame].take(
            candidates.regions
        )
        nearest = np.minimum.reduce(candidates.divergences, axis=1)
        return np.asarray(nearest + new / len(self.clip.times))

    def carry(self, candidates: Candidates | None = None, candidate: int = 0) -> int:
        """How many of the sites no chosen sequence has."""
        if candidates is None:
            return 0
        is_new = not self.chosen.taken[candidates.site(candidate)]
        return int(candidates.subset.running[self.index] + is_new)

    @property
    def starts(self) -> BoolArray:
        """Where no chosen sequence did, while there are such regions.

        The first region brings most of a sequence's information, so a search frame by frame would
        start in the best place again and again, whatever that does to this term.
        """
        new = ~self.chosen.taken[0]
        return new if new.any() else super().starts


class Coherence(Term):
    """How alike the regions look (Eq. 12)."""

    def values(self, candidates: Candidates) -> Float64Array:
        frame, regions, subset = candidates.frame, candidates.regions, candidates.subset
        cosines = self.clip.features[frame].take(regions, axis=0) @ subset.running[self.index]
        return np.asarray(subset.values[self.index] + cosines / self._lengths[frame].take(regions))

    def carry(self, candidates: Candidates | None = None, candidate: int = 0) -> FloatArray:
        """(D,): the sum of unit features; the term gains <x, sum> when x joins."""
        if candidates is None:
            return np.zeros(self.clip.features.shape[2], np.float32)
        site = candidates.site(candidate)
        unit = self.clip.features[site] / self._lengths[site]
        return np.asarray(candidates.subset.running[self.index] + unit)

    @property
    def scale(self) -> float:
        """A sequence's pairs, times how far (1 - cosine) two regions of the clip are apart."""
        frames = len(self.clip.times)
        return max(frames * (frames - 1) // 2, 1) * max(self._spread, SMALLEST_SPREAD)

    @cached_property
    def _spread(self) -> float:
        middle = np.tensordot(1 / self._lengths, self.clip.features, axes=2) / self._lengths.size
        return 1 - float(middle @ middle)

    @cached_property
    def _lengths(self) -> FloatArray:
        """(T, R): of the features."""
        # einsum squares without a second array as large as the features.
        squares = np.einsum("trd,trd->tr", self.clip.features, self.clip.features)
        return np.asarray(np.sqrt(np.maximum(squares, np.finfo(np.float32).tiny)))


TERMS: dict[str, type[Term]] = {
    "informativeness": Informativeness,
    "divergence": Divergence,
    "nearest_divergence": NearestDivergence,
    "coherence": Coherence,
}
"""By the names that `RegionsConfig.terms` gives them."""


class Candidates:
    """The ways to extend a subset by one of C regions of a frame, computed together."""

    def __init__(
        self, objective: Objective, subset: Subset, frame: int, regions: IndexArray
    ) -> None:
        self.objective, self.subset, self.frame = objective, subset, frame
        self.regions = regions
        """(C,)."""
        self._pooled: FloatArray | None = None
        self._divergences: Float64Array | None = None
        self.mass = informativeness(self.pooled)
        """(C,): the sum of all words' probabilities."""
        self.values = np.empty((len(regions), len(objective.terms)))
        """(C, terms): of the subset with each candidate."""
        for term in objective.terms:
            self.values[:, term.index] = term.values(self)
        self._pooled = None

    @property
    def pooled(self) -> FloatArray:
        """(C, W): the subset's words with each candidate."""
        if self._pooled is None:
            self._pooled = self.objective.clip.probabilities[self.frame].take(self.regions, axis=0)
            np.maximum(self._pooled, self.subset.pooled, out=self._pooled)
        return self._pooled

    @property
    def divergences(self) -> Float64Array:
        """(C, N): from each chosen sequence."""
        if self._divergences is None:
            self._divergences = self.objective.chosen.diverge(self.pooled, self.mass)
            self._pooled = None
        return self._divergences

    @property
    def gains(self) -> Float64Array:
        """(C,): the marginal gain L(w_v; r) of each candidate (Eq. 7)."""
        return np.asarray((self.values - self.subset.values) @ self.objective.rates)

    @property
    def term_gains(self) -> Float64Array:
        """(C, terms): what each candidate adds to each term, scaled but not weighted."""
        return np.asarray((self.values - self.subset.values) / self.objective.scales)

    def site(self, candidate: int) -> tuple[int, int]:
        return self.frame, int(self.regions[candidate])

    def take(self, candidate: int) -> Subset:
        """The subset with this candidate in it."""
        site = self.site(candidate)
        return Subset(
            (*self.subset.sites, site),
            self.values[candidate],
            np.maximum(self.subset.pooled, self.objective.clip.probabilities[site]),
            [term.carry(self, candidate) for term in self.objective.terms],
        )

    def take_best(self) -> Subset:
        """The subset with the candidate of highest gain; of equals, the first."""
        gains = self.gains
        best = float(gains.max())
        # A product of matrices rounds equal rows differently by their index.
        return self.take(int((gains >= best - ROUNDING * max(1, abs(best))).argmax()))


class Objective:
    """R(A) for one clip, given the sequences that have been chosen from it (Eq. 4-5)."""

    def __init__(
        self,
        clip: FrameGrid,
        config: RegionsConfig | None = None,
        words: IndexArray | None = None,
    ) -> None:
        """`words` are those that informativeness counts: a sentence's, or the whole lexicon.

        Scaling `paper` takes the terms as they are; `clip` divides each by its `scale`, so that a
        weight means the same for any clip, lexicon, network and k.
        """
        self.clip = clip
        self.config = config or RegionsConfig()
        check_terms(self.config)
        self.frames, self.regions = clip.probabilities.shape[:2]
        self.terms = [
            TERMS[name](index, weight, clip, self.config, words)
            for index, (name, weight) in enumerate(self.config.terms.items())
        ]
        self._choose(Chosen.none(clip))

    def _choose(self, chosen: Chosen) -> None:
        self.chosen = chosen
        self.terms = [copy(term) for term in self.terms]
        for term in self.terms:
            term.chosen = chosen
        is_scaled = self.config.scaling == "clip"
        self.scales = np.array([term.scale if is_scaled else 1.0 for term in self.terms])
        """What each term is divided by."""
        self.rates = np.array([term.weight for term in self.terms]) / self.scales
        """What one more of each term is worth."""

    def beside(self, sequence: Subset) -> Objective:
        """The objective of the next sequence, now that this one is chosen."""
        following = copy(self)
        following._choose(self.chosen.with_sequence(sequence))
        return following

    @property
    def starts(self) -> IndexArray:
        """Regions to start in: those that every term allows, or all if that leaves none."""
        allowed = np.all([term.starts for term in self.terms], axis=0)
        return np.flatnonzero(allowed) if allowed.any() else np.arange(self.regions)

    def empty(self) -> Subset:
        return Subset(
            (),
            np.zeros(len(self.terms)),
            np.zeros(self.clip.probabilities.shape[2], np.float32),
            [term.carry() for term in self.terms],
        )

    def extend(self, subset: Subset, frame: int, regions: IndexArray) -> Candidates:
        """What each of `regions` (C,) of a frame would make of the subset."""
        return Candidates(self, subset, frame, regions)

    def value(self, subset: Subset) -> float:
        """R(A)."""
        return float(subset.values @ self.rates)


def check_terms(config: RegionsConfig) -> None:
    """Refuse a term that there is not."""
    for name in config.terms:
        if name not in TERMS:
            raise ModelError(f"no term '{name}' of regions.terms: there are {', '.join(TERMS)}")
