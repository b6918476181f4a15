"""Orders of a clip's sentences that look at no reference: each gives every sentence a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from densevidcap.experiments.candidates import Found
from densevidcap.language.describer import Candidate, Describer
from densevidcap.language.views import ClipView
from densevidcap.rerank.evaluator import Evaluator


@dataclass(frozen=True)
class Scene:
    """A clip and what was found and said of it."""

    number: int
    """Of the clip, for its own random order."""
    view: ClipView
    found: Found
    said: Sequence[Candidate]
    """Some of those found, in order of choice."""
    describer: Describer
    evaluator: Evaluator

    def say(self, count: int) -> Scene:
        """The same with only the first choices."""
        return replace(self, said=self.said[:count])

    @property
    def sentences(self) -> list[str]:
        return [sentence for _, sentence in self.pair(self.said)]

    def pair(self, candidates: Sequence[Candidate]) -> list[tuple[int, str]]:
        """Region-sequences and sentences."""
        return [(each.sequence, self.describer.say(each.words)) for each in candidates]


def _by_choice(scene: Scene) -> Sequence[float]:
    return [-place for place in range(len(scene.said))]


def _by_consensus(scene: Scene) -> Sequence[float]:
    pool = scene.found.pool
    ratings = scene.describer.rate(pool).tolist()
    of_words = {each.words: rating for each, rating in zip(pool, ratings, strict=True)}
    return [of_words[candidate.words] for candidate in scene.said]


def _by_likelihood(scene: Scene) -> Sequence[float]:
    return [candidate.score for candidate in scene.said]


def _by_evaluator(scene: Scene) -> Sequence[float]:
    sequences = [candidate.sequence for candidate in scene.said]
    values: list[float] = scene.evaluator.score(scene.view, scene.sentences, sequences).tolist()
    return values


def _at_random(scene: Scene) -> Sequence[float]:
    values: list[float] = np.random.default_rng(scene.number).random(len(scene.said)).tolist()
    return values


ORDERS: dict[str, Callable[[Scene], Sequence[float]]] = {
    "choice": _by_choice,
    "consensus": _by_consensus,
    "likelihood": _by_likelihood,
    "evaluator": _by_evaluator,
    "random": _at_random,
}


def rank(scene: Scene, order: str) -> list[str]:
    """What was said, the best first."""
    values = ORDERS[order](scene)
    places = sorted(range(len(values)), key=lambda place: -values[place])
    sentences = scene.sentences
    return [sentences[place] for place in places]
