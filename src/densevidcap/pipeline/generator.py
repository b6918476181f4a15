"""Candidate sentences of a clip, from every one of its region-sequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np

from densevidcap.data.lexicon import FUNCTION_WORDS
from densevidcap.data.lsa import LatentSpace
from densevidcap.decoding.generate import BeamOptions, SampleOptions, compare, draw, search
from densevidcap.decoding.mbr import Phrases, agree
from densevidcap.decoding.select import find_affinities
from densevidcap.models.captioner import CaptionModel
from densevidcap.models.category import CategoryClassifier, mark_category
from densevidcap.models.device import device_of
from densevidcap.models.evaluator import Evaluator
from densevidcap.models.streams import ClipView, look, make_streams
from densevidcap.regions.objectives import Float64Array
from densevidcap.train.sentences import CATEGORY, MEANING, PHRASES
from densevidcap.types import FloatArray

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
        self._frames = [*captioner.options.frame_streams]
        self._whole = [*captioner.options.whole_streams]

    @property
    def streams(self) -> tuple[str, ...]:
        """What sentences are made from, by name."""
        return (*self._frames, *self._whole)

    @classmethod
    def load(cls, folder: Path) -> CaptionGenerator:
        captioner = CaptionModel.load(folder)
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
        draws: SampleOptions | None = None,
        sequences: Sequence[int] | None = None,
        categories: int = 1,
    ) -> list[Candidate]:
        """The sentences that are searched, and drawn, for every sequence, each one's best first.

        `categories` is how many probable ones are tried (Eq. 14), 0 for none.
        """
        found: dict[tuple[int, tuple[int, ...]], Candidate] = {}
        for supposed, log_category in self.categorise(view, categories):
            rows = look(supposed, sequences, MOST_FRAMES)
            streams = make_streams(rows, self._frames, self._whole, device_of(self.captioner))
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
        streams = make_streams(rows, self._frames, self._whole, device_of(self.captioner))
        return np.asarray(compare(self.captioner, streams, sentences).cpu().numpy(), np.float32)

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


DANGLING = FUNCTION_WORDS | {"a", "an", "the", "of", "about", "for", "from", "by", "into"}
"""A sentence that ends in one of these breaks off: "a man is talking about"."""


@dataclass(frozen=True)
class Shortlist:
    """S different sentences of a clip with K region-sequences, the best first."""

    sentences: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    """(S,): how they were found."""
    quality: FloatArray
    """(S,), 0 to 1: how well each agrees with all that was found."""
    fit: FloatArray
    """(S,), -1 to 1: the evaluator's score, 0 without one."""
    meanings: FloatArray
    """(S, D): places in the latent space."""
    likelihoods: FloatArray
    """(S, K): log P(sentence | sequence)."""
    affinities: FloatArray
    """(S, K): how much more of a sentence a sequence has than the others."""


def make_shortlist(
    found: Sequence[Candidate],
    view: ClipView,
    describer: CaptionGenerator,
    evaluator: Evaluator | None,
    words: Sequence[str],
    most: int,
) -> Shortlist:
    """Of at most so many. `words` are those of the lexicon, the most frequent first."""
    kept, agreement = keep_best(found, describer, most)
    sentences = tuple(describer.say(candidate.words) for candidate in kept)
    likelihoods = describer.compare(view, [candidate.words for candidate in kept])
    fit = np.zeros(len(kept), np.float32)
    if evaluator is not None:
        fit = evaluator.score(view, sentences)
    return Shortlist(
        sentences,
        tuple(kept),
        agreement.astype(np.float32),
        fit,
        describer.place(kept).astype(np.float32),
        likelihoods,
        find_affinities(sentences, likelihoods, view.sequence_words, words),
    )


def keep_best(
    found: Sequence[Candidate], describer: CaptionGenerator, most: int
) -> tuple[list[Candidate], Float64Array]:
    """The different sentences that agree best with all, and how well each does (S,).

    Those that break off are kept only if there are no others.
    """
    agreement = describer.rate(found)
    best: dict[tuple[int, ...], int] = {}
    for place in np.argsort(-agreement, kind="stable").tolist():
        best.setdefault(found[place].words, place)
    whole = [place for words, place in best.items() if not _breaks_off(describer.say(words))]
    kept = (whole or list(best.values()))[:most]
    return [found[place] for place in kept], agreement[kept]


def _breaks_off(sentence: str) -> bool:
    return sentence.rpartition(" ")[2] in DANGLING
