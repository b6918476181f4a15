"""Candidate sentences of a clip, from every one of its region-sequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np

from densevidcap.config import ModelConfig
from densevidcap.data.lexicon import FUNCTION_WORDS
from densevidcap.data.lsa import LatentSpace
from densevidcap.decoding.generate import compare, sample, search
from densevidcap.decoding.mbr import Phrases, mbr_scores
from densevidcap.model_folder import CATEGORY, MEANING, PHRASES
from densevidcap.models.captioner import CaptionModel
from densevidcap.models.category import CategoryClassifier, mark_category
from densevidcap.models.device import device_of
from densevidcap.models.fusion import Streams
from densevidcap.models.streams import make_streams
from densevidcap.models.views import ClipView, Row, look
from densevidcap.regions.objectives import Float64Array
from densevidcap.types import FloatArray, Hypothesis

DANGLING = FUNCTION_WORDS | {"a", "an", "the", "of", "about", "for", "from", "by", "into"}
"""A sentence that ends in one of these breaks off: "a man is talking about"."""


class CaptionGenerator:
    """A captioner and the classifier that tells it a clip's category, if it takes one."""

    def __init__(
        self,
        captioner: CaptionModel,
        classifier: CategoryClassifier | None,
        meaning: LatentSpace,
        phrases: Phrases,
    ) -> None:
        self.captioner, self.classifier = captioner, classifier
        self.meaning, self.phrases = meaning, phrases

    @property
    def streams(self) -> tuple[str, ...]:
        """What sentences are made from, by name."""
        return (*self.captioner.widths.frame_level, *self.captioner.widths.clip_level)

    @classmethod
    def load(cls, folder: Path) -> CaptionGenerator:
        captioner = CaptionModel.load(folder)
        takes_category = "category" in captioner.widths.clip_level
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
        self, view: ClipView, config: ModelConfig, sequences: Sequence[int] | None = None
    ) -> list[Hypothesis]:
        """The sentences that are searched and sampled for every sequence, each one's best first.

        A score is with that of the category (Eq. 14).
        """
        decoding = config.decoding
        found: dict[tuple[int, tuple[int, ...]], Hypothesis] = {}
        for supposed, log_category in self.categorise(view, decoding.categories):
            rows = look(supposed, sequences, config.captioner.most_frames)
            streams = self._stream(rows)
            searched = search(self.captioner, streams, decoding)
            sampled = sample(self.captioner, streams, decoding)
            for row, *both in zip(rows, searched, sampled, strict=True):
                for one in (each for kind in both for each in kind):
                    length = (len(one.ids) + 1) ** decoding.length_penalty
                    score = one.score + log_category / length
                    known = found.get((row.sequence, one.ids))
                    found[row.sequence, one.ids] = replace(
                        one,
                        score=max(score, known.score) if known else score,
                        samples=one.samples + (known.samples if known else 0),
                        sequence=row.sequence,
                    )
        return sorted(found.values(), key=lambda each: (each.sequence, -each.score))

    def compare(
        self, view: ClipView, sentences: Sequence[Sequence[int]], config: ModelConfig
    ) -> FloatArray:
        """(S, K): log P(sentence | sequence) of every sentence under every sequence of the clip."""
        ((supposed, _),) = self.categorise(view, 1)
        streams = self._stream(look(supposed, None, config.captioner.most_frames))
        return np.asarray(compare(self.captioner, streams, sentences).cpu().numpy(), np.float32)

    def keep_best(
        self, found: Sequence[Hypothesis], most: int
    ) -> tuple[list[Hypothesis], Float64Array]:
        """The different sentences that agree best with all, and how well each does (S,).

        Those that break off are kept only if there are no others.
        """
        agreement = self.rate(found)
        best: dict[tuple[int, ...], int] = {}
        for index in np.argsort(-agreement, kind="stable").tolist():
            best.setdefault(found[index].ids, index)
        whole = [index for ids, index in best.items() if not _breaks_off(self.say(ids))]
        kept = (whole or list(best.values()))[:most]
        return [found[index] for index in kept], agreement[kept]

    def rate(self, found: Sequence[Hypothesis]) -> Float64Array:
        """(S,): how well each sentence agrees with all that were sampled (minimum Bayes risk).

        If none were, with all of them.
        """
        samples: Counter[tuple[int, ...]] = Counter()
        for one in found:
            samples[one.ids] += one.samples
        counts = [*samples.values()] if any(samples.values()) else [1] * len(samples)
        scores = mbr_scores([self.say(ids) for ids in samples], counts, self.phrases)
        ratings = dict(zip(samples, scores.tolist(), strict=True))
        return np.array([ratings[one.ids] for one in found])

    def say(self, ids: Sequence[int]) -> str:
        return self.captioner.vocabulary.decode(ids)

    def _stream(self, rows: Sequence[Row]) -> Streams:
        widths = self.captioner.widths
        names = [*widths.frame_level], [*widths.clip_level]
        return make_streams(rows, *names, device_of(self.captioner))


def _breaks_off(sentence: str) -> bool:
    return sentence.rpartition(" ")[2] in DANGLING
