"""How sure we are of a sentence, and of a word: learned from clips that trained nothing.

Confidence is the probability that a sentence is right in every content word: that people who
describe the clip use each of them too. It follows from the sentence's traits by a logistic
regression on held-out clips. What a Lexical-FCN says of a word is not such a probability yet: it
learned how many of a clip's captions have the word. A monotone curve makes one of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional as F

from densevidcap.data.lexicon import find_precision, list_content_words
from densevidcap.data.text_files import read_json
from densevidcap.errors import ModelError
from densevidcap.model_folder import write_json
from densevidcap.models.shown_words import ShownWord
from densevidcap.pipeline.traits import TRAITS
from densevidcap.types import FloatArray

Array = npt.NDArray[np.floating[Any]]


class Judged(NamedTuple):
    """The candidates of a held-out clip, and what its captions say of them."""

    traits: FloatArray
    """(S, F)"""
    confirmed: FloatArray
    """(S,): the share of content words that the captions have."""
    chosen: Sequence[int]
    """Those that are said, in order of choice."""


class Known(NamedTuple):
    """The words of a held-out clip, W of the lexicon's, and whether its captions have them."""

    clip: FloatArray
    """(W,): P(the clip shows the word)."""
    peak: FloatArray
    """(W,): the highest probability in any region."""
    named: npt.NDArray[np.bool_]
    """(W,)"""
    means: FloatArray
    """(T, D): of the features of each frame's regions."""
    spreads: FloatArray
    """(T,): how far from it they are, as the root of the mean square."""


@dataclass(frozen=True)
class Curve:
    """A monotone map of probabilities to probabilities, linear between its points."""

    raw: tuple[float, ...] = (0.0, 1.0)
    true: tuple[float, ...] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if len(self.raw) != len(self.true) or len(self.raw) < 2:
            raise ValueError("a curve has at least two points")
        for each in (self.raw, self.true):
            if not (each[0] >= 0 and each[-1] <= 1 and (np.diff(each) >= 0).all()):
                raise ValueError("a curve rises, from 0 to 1 at most")

    def apply(self, probabilities: FloatArray | np.float32) -> FloatArray:
        return np.asarray(np.interp(probabilities, self.raw, self.true), np.float32)

    @classmethod
    def fit(cls, probabilities: FloatArray, hits: npt.NDArray[np.bool_]) -> Curve:
        """The one that is nearest to what happened: isotonic regression of (N,) hits."""
        order = np.argsort(probabilities, kind="stable")
        # Each point has as many hits as the others: where these are rare, many words make one.
        part = np.cumsum(hits[order]) // max(1, int(hits.sum()) // POINTS)
        starts = np.flatnonzero(np.diff(part, prepend=-1))
        sizes = np.diff(starts, append=len(order)).astype(np.float64)
        raw = np.add.reduceat(probabilities[order].astype(np.float64), starts) / sizes
        shares = np.add.reduceat(hits[order].astype(np.float64), starts) / sizes
        true = pool_violators(shares, sizes)
        ends = np.concatenate([[0.0], raw, [1.0]]), np.concatenate([[0.0], true, [true[-1]]])
        kept = np.concatenate([[True], np.diff(ends[0]) > 0])
        return cls(*(tuple(each[kept].tolist()) for each in ends))


POINTS = 60
"""Of a curve, about."""


def pool_violators(values: Array, weights: Array) -> npt.NDArray[np.float64]:
    """(N,): the rising values that are nearest to these by weighted squares."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        blocks.append((value, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (a, wa, na), (b, wb, nb) = blocks[-2:]
            blocks[-2:] = [((a * wa + b * wb) / (wa + wb), wa + wb, na + nb)]
    return np.repeat([value for value, _, _ in blocks], [count for _, _, count in blocks])


@dataclass(frozen=True)
class Trust:
    """What confidence is made of, and what words are worth."""

    weights: Mapping[str, float] = field(default_factory=lambda: {"agreement": 4.0})
    """Trait to its weight; those that are not named count nothing."""
    offset: float = -2.0
    """Confidence is the sigmoid of the weighted traits and this."""
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Trait to what nearly all known sentences have of it: more, or less, tells no more."""
    clip: Curve = field(default_factory=Curve)
    """From P(the clip shows a word), as the Lexical-FCN has it, to P(people name it)."""
    region: Curve = field(default_factory=Curve)
    """The same from P(the region shows it)."""
    centre: tuple[float, ...] = ()
    """(D,): the mean feature of clips."""
    reach: float = np.inf
    """How far from there the mean feature of a clip may lie, in units of how far its features lie
    from each other. Black, noise and test patterns lie beyond: they are like nothing that is known,
    and alike all over. Of these nothing can be said."""

    def is_blind(self, features: FloatArray) -> bool:
        """Whether no frame of a clip with these features (T, R, D) shows anything that is known.

        Frame by frame: black and white in turn are as far from each other as from all clips.
        """
        if not self.centre or not np.isfinite(self.reach):
            return False
        return bool(find_nearest(*gauge(features), self.centre) > self.reach)

    def __post_init__(self) -> None:
        unknown = self.weights.keys() - set(TRAITS)
        if unknown:
            raise ValueError(f"no traits {', '.join(sorted(unknown))}")

    def rate(self, traits: FloatArray) -> FloatArray:
        """(S,): confidence, from traits (S, F)."""
        weights = np.array([self.weights.get(name, 0.0) for name in TRAITS])
        low, high = zip(*(self.bounds.get(name, (-np.inf, np.inf)) for name in TRAITS), strict=True)
        logits = np.clip(traits.astype(np.float64), low, high) @ weights + self.offset
        # The tanh form of the sigmoid never overflows.
        return np.asarray(0.5 + 0.5 * np.tanh(0.5 * logits), np.float32)

    def rate_word(self, word: ShownWord) -> ShownWord:
        """The same with the probabilities that people name it."""
        clip, region = np.float32(word.probability), np.float32(word.peak)
        return replace(
            word,
            probability=float(self.clip.apply(clip)),
            peak=float(self.region.apply(region)),
        )

    @classmethod
    def learn_words(cls, clips: Sequence[Known]) -> Trust:
        """What words are worth, from clips that the model has not learned from."""
        hits = np.concatenate([clip.named for clip in clips])
        clip, region = (
            Curve.fit(np.concatenate(values), hits)
            for values in ([each.clip for each in clips], [each.peak for each in clips])
        )
        if len(clips) < ENOUGH:
            return cls(clip=clip, region=region)
        centre = np.stack([each.means.mean(axis=0) for each in clips]).mean(axis=0)
        nearest = [find_nearest(each.means, each.spreads, centre) for each in clips]
        return cls(
            clip=clip,
            region=region,
            centre=tuple(centre.round(4).tolist()),
            reach=float(np.quantile(nearest, FAR)),
        )

    def learn(self, clips: Sequence[Judged]) -> Trust:
        """The same with weights from clips that the model has not learned from.

        Weights come from all candidates, which are many; what a sum of them means, from those that
        are said.
        """
        found = np.concatenate([clip.traits for clip in clips]).astype(np.float64)
        low, high = np.quantile(found, (1 - USUAL, USUAL), axis=0)
        traits = np.clip(found, low, high)
        is_right = np.concatenate([clip.confirmed for clip in clips]) > RIGHT
        centre, scale = traits.mean(axis=0), traits.std(axis=0)
        scale = np.where(scale > 1e-6, scale, np.inf)
        units = (traits - centre) / scale
        slopes, _ = fit_logistic(units, is_right, PRIOR / len(clips))
        weights = slopes / scale
        said = [np.clip(clip.traits[list(clip.chosen)], low, high) @ weights for clip in clips]
        right = [clip.confirmed[list(clip.chosen)] > RIGHT for clip in clips]
        sums = np.concatenate(said)[:, None]
        stretch, offset = fit_logistic(sums, np.concatenate(right), PRIOR / len(clips))
        weights = weights * max(float(stretch[0]), 0.0)
        named = {name: float(each) for name, each in zip(TRAITS, weights, strict=True) if each}
        ends = zip(TRAITS, low.tolist(), high.tolist(), strict=True)
        bounds = {name: (least, most) for name, least, most in ends if name in named}
        return replace(self, weights=named, offset=offset, bounds=bounds)

    def save(self, path: Path) -> None:
        # JSON has no infinity.
        content = asdict(self)
        write_json(path, {**content, "reach": self.reach if np.isfinite(self.reach) else None})

    @classmethod
    def load(cls, path: Path) -> Trust:
        """The default where there is none: a model that was never calibrated."""
        if not path.exists():
            return cls()
        try:
            content = read_json(path)
            if "slope" in content:  # of version 0.1
                slope, fit = float(content["slope"]), float(content["fit"])
                weights = {"agreement": slope, "fit": slope * fit}
                return cls(weights, float(content["offset"]))
            curves = {
                name: Curve(**{side: tuple(map(float, content[name][side])) for side in SIDES})
                for name in ("clip", "region")
            }
            weights = {str(name): float(each) for name, each in content["weights"].items()}
            bounds = {
                str(name): (float(low), float(high))
                for name, (low, high) in content.get("bounds", {}).items()
            }
            return cls(
                weights,
                float(content["offset"]),
                bounds,
                **curves,
                centre=tuple(map(float, content["centre"])),
                reach=float(content["reach"]) if content["reach"] is not None else np.inf,
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ModelError(f"{path}: not a ranking; copy the whole model folder") from None


SIDES = ("raw", "true")
ENOUGH = 50
"""Clips from which on it is known what is far."""
FAR = 0.99
"""Nothing is said of clips that are farther from all clips than this share of them."""
USUAL = 0.995
"""Beyond what this share of sentences has, a trait tells no more: nothing is known of it."""
RIGHT = 0.999
"""A sentence is right from this share of its words on."""
PRIOR = 0.1
"""How strongly weights are held at 0, as if by so many clips that tell nothing."""


def gauge(features: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(T, D) the means of frames with features (T, R, D), and (T,) how far from them they are."""
    wide = np.asarray(features, np.float64)
    means = wide.mean(axis=1)
    spreads = np.sqrt(((wide - means[:, None]) ** 2).sum(axis=-1).mean(axis=-1))
    least = np.finfo(np.float32).tiny
    return means.astype(np.float32), np.maximum(spreads, least).astype(np.float32)


def find_nearest(
    means: FloatArray, spreads: FloatArray, centre: Sequence[float] | FloatArray
) -> float:
    """How far the frame of a clip that is the nearest to all clips is, in its own spreads."""
    distances = np.linalg.norm(means.astype(np.float64) - np.asarray(centre), axis=-1)
    return float((distances / spreads).min())


def judge(sentences: Sequence[str], captions: Sequence[str]) -> FloatArray:
    """(S,): the share of each sentence's content words that the clip's captions have."""
    known = {word for caption in captions for word in list_content_words(caption)}
    return np.array([find_precision(sentence, known) for sentence in sentences], np.float32)


def fit_logistic(
    inputs: Array, targets: npt.NDArray[np.bool_], prior: float
) -> tuple[npt.NDArray[np.float64], float]:
    """(F,) slopes and the offset of the likeliest logistic regression of (N,) on (N, F).

    `prior` is what squares of slopes cost beside the mean loss.
    """
    x, y = torch.from_numpy(inputs.astype(np.float64)), torch.from_numpy(targets.astype(np.float64))
    line = torch.zeros(x.shape[1] + 1, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([line], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        search.zero_grad()
        value = F.binary_cross_entropy_with_logits(x @ line[:-1] + line[-1], y)
        value = value + prior * (line[:-1] ** 2).mean()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    search.step(loss)  # type: ignore[no-untyped-call]
    *slopes, offset = line.tolist()
    return np.array(slopes), offset
