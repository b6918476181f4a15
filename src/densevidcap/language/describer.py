"""Sentences for a clip's region-sequences: candidates from every one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np

from densevidcap.data.lsa import LatentSpace
from densevidcap.language.beams import BeamOptions, search
from densevidcap.language.captioner import Captioner
from densevidcap.language.category import CategoryClassifier, mark_category
from densevidcap.language.comparing import compare
from densevidcap.language.consensus import agree
from densevidcap.language.draws import DrawOptions, draw
from densevidcap.language.fitting import CATEGORY, MEANING, PHRASES
from densevidcap.language.phrases import Phrases
from densevidcap.language.views import ClipView, look, make_streams
from densevidcap.records import FloatArray
from densevidcap.regions.objectives import Float64Array

MOST_FRAMES = 8
"""Frames of a sequence that are shown to the captioner at most: as many as it was trained on."""


@dataclass(frozen=True)
class Candidate:
    """A sentence that was found for a region-sequence."""

    sequence: int
    words: tuple[int, ...]
    """Numbers in the captioner's vocabulary, without signs."""
    score: float
    """Its log-probability after the length penalty, with that of its category (Eq. 14)."""
    log_probability: float
    """log P(sentence | its own sequence)."""
    draws: int = 0
    """How often it was drawn for the sequence."""


class Describer:
    """A captioner and the classifier that tells it a clip's category, if it takes one."""

    def __init__(
        self,
        captioner: Captioner,
        classifier: CategoryClassifier | None,
        meaning: LatentSpace,
        phrases: Phrases,
    ) -> None:
        self.captioner, self.classifier = captioner, classifier
        self.meaning, self.phrases = meaning, phrases
        self._frames = [*captioner.options.frame_streams]
        self._whole = [*captioner.options.whole_streams]

    @classmethod
    def load(cls, folder: Path) -> Describer:
        captioner = Captioner.load(folder)
        takes_category = "category" in captioner.options.whole_streams
        return cls(
            captioner,
            CategoryClassifier.load(folder / CATEGORY) if takes_category else None,
            LatentSpace.load(folder / MEANING),
            Phrases.load(folder / PHRASES),
        )

    def categorise(self, view: ClipView, most: int) -> list[tuple[ClipView, float]]:
        """The view in each of its `most` probable categories, with log P(c | v).

        A view that has its category already, or a captioner without, stays as it is.
        """
        if self.classifier is None or view.category is not None or not most:
            return [(view, 0.0)]
        probabilities = self.classifier.classify(view)
        order = np.argsort(-probabilities, kind="stable")[:most]
        names = self.classifier.categories
        floor = np.finfo(np.float32).tiny
        return [
            (mark_category(view, names, names[c]), log(max(probabilities[c], floor))) for c in order
        ]

    def propose(
        self,
        view: ClipView,
        beams: BeamOptions,
        draws: DrawOptions | None = None,
        sequences: Sequence[int] | None = None,
        categories: int = 1,
    ) -> list[Candidate]:
        """The sentences that are searched, and drawn, for every sequence, each one's best first.

        `categories` is how many probable ones are tried (Eq. 14), 0 for none.
        """
        found: dict[tuple[int, tuple[int, ...]], Candidate] = {}
        for supposed, log_category in self.categorise(view, categories):
            rows = look(supposed, sequences, MOST_FRAMES)
            streams = make_streams(rows, self._frames, self._whole)
            sentences = search(self.captioner, streams, beams)
            if draws is not None:
                drawn = draw(self.captioner, streams, draws)
                sentences = [[*a, *b] for a, b in zip(sentences, drawn, strict=True)]
            for row, ones in zip(rows, sentences, strict=True):
                for one in ones:
                    length = (len(one.words) + 1) ** beams.length_penalty
                    score = one.score + log_category / length
                    key = (row.sequence, one.words)
                    known = found.get(key)
                    best = max(score, known.score) if known else score
                    often = one.draws + (known.draws if known else 0)
                    found[key] = Candidate(*key, best, one.log_probability, often)
        return sorted(found.values(), key=lambda each: (each.sequence, -each.score))

    def compare(self, view: ClipView, sentences: Sequence[Sequence[int]]) -> FloatArray:
        """(S, K): log P(sentence | sequence) of every sentence under every sequence of the clip."""
        ((supposed, _),) = self.categorise(view, 1)
        rows = look(supposed, None, MOST_FRAMES)
        streams = make_streams(rows, self._frames, self._whole)
        return np.asarray(compare(self.captioner, streams, sentences).numpy(), np.float32)

    def rate(self, candidates: Sequence[Candidate]) -> Float64Array:
        """(S,): how well each sentence agrees with all that were drawn.

        If none were, with all of them.
        """
        draws: Counter[tuple[int, ...]] = Counter()
        for candidate in candidates:
            draws[candidate.words] += candidate.draws
        counts = [*draws.values()] if any(draws.values()) else [1] * len(draws)
        found = agree([self.say(words) for words in draws], counts, self.phrases)
        ratings = dict(zip(draws, found.tolist(), strict=True))
        return np.array([ratings[candidate.words] for candidate in candidates])

    def place(self, candidates: Sequence[Candidate]) -> Float64Array:
        """(S, D): what each sentence means."""
        return self.meaning.embed(self.say(candidate.words) for candidate in candidates)

    def say(self, words: Sequence[int]) -> str:
        return self.captioner.vocabulary.decode(words)
