"""Sentences for a clip's region-sequences: candidates from every one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np
import torch

from densevidcap.language.beams import BeamOptions, score, search
from densevidcap.language.captioner import Captioner
from densevidcap.language.category import CategoryClassifier, mark_category
from densevidcap.language.fitting import CATEGORY
from densevidcap.language.views import ClipView, look, make_streams
from densevidcap.records import FloatArray

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


class Describer:
    """A captioner and the classifier that tells it a clip's category, if it takes one."""

    def __init__(self, captioner: Captioner, classifier: CategoryClassifier | None) -> None:
        self.captioner, self.classifier = captioner, classifier
        self._frames = [*captioner.options.frame_streams]
        self._whole = [*captioner.options.whole_streams]

    @classmethod
    def load(cls, folder: Path) -> Describer:
        captioner = Captioner.load(folder)
        takes_category = "category" in captioner.options.whole_streams
        return cls(
            captioner, CategoryClassifier.load(folder / CATEGORY) if takes_category else None
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
        return [(mark_category(view, names, names[c]), log(probabilities[c])) for c in order]

    def propose(
        self,
        view: ClipView,
        beams: BeamOptions,
        sequences: Sequence[int] | None = None,
        categories: int = 3,
    ) -> list[Candidate]:
        """Every sentence of every beam of every sequence, each sequence's best first (Eq. 14).

        `categories` is how many are tried, 0 for none.
        """
        found: dict[tuple[int, tuple[int, ...]], Candidate] = {}
        for supposed, log_category in self.categorise(view, categories):
            rows = look(supposed, sequences, MOST_FRAMES)
            streams = make_streams(rows, self._frames, self._whole)
            for row, sentences in zip(rows, search(self.captioner, streams, beams), strict=True):
                for one in sentences:
                    length = (len(one.words) + 1) ** beams.length_penalty
                    candidate = Candidate(
                        row.sequence,
                        one.words,
                        one.score + log_category / length,
                        one.log_probability,
                    )
                    key = (row.sequence, one.words)
                    if key not in found or found[key].score < candidate.score:
                        found[key] = candidate
        return sorted(found.values(), key=lambda each: (each.sequence, -each.score))

    def compare(self, view: ClipView, sentences: Sequence[Sequence[int]]) -> FloatArray:
        """(S, K): log P(sentence | sequence) of every sentence under every sequence of the clip."""
        ((supposed, _),) = self.categorise(view, 1)
        rows = look(supposed, None, MOST_FRAMES)
        streams = make_streams(rows, self._frames, self._whole)
        every = torch.arange(len(rows)).repeat(len(sentences))
        repeated = [words for words in sentences for _ in rows]
        scores = score(self.captioner, streams.select(every), repeated)
        return np.asarray(scores.view(len(sentences), len(rows)).numpy(), np.float32)

    def say(self, words: Sequence[int]) -> str:
        return self.captioner.vocabulary.decode(words)
