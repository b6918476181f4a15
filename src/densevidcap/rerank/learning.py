"""Teaching the evaluator: whose sentence is it, and which sentence is better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from densevidcap.data.text import Vocabulary
from densevidcap.errors import CorpusError, ModelError
from densevidcap.rerank.evaluator import pad
from densevidcap.rerank.evidence import Shelf
from densevidcap.rerank.exam import Exam
from densevidcap.rerank.lessons import Lesson, Pair, Words, grade_sentences
from densevidcap.rerank.network import EvaluatorNetwork


@dataclass(frozen=True)
class LessonOptions:
    """What the evaluator learns from, and how."""

    min_count: int = 3
    """Words that the training captions have less often are not learned."""
    max_length: int = 20
    """Longer captions are cut off."""
    batch: int = 128
    """Captions a step; each is told from all others of its batch."""
    hard: float = 0.5
    """Share of batches whose clips are of one category, where what tells them apart is finer."""
    unknown: float = 0.1
    """Share of words that are read as unknown, so that unknown ones are nothing new."""
    rivals: int = 2
    """Sentences that each caption is compared with: other captions of its clip, captions of other
    clips, and the captioner's."""
    strangers: int = 10
    """Captions of other clips (of its category) among a clip's rivals."""
    grading: float = 1.0
    """Weight of that comparison beside the telling apart."""
    tolerance: float = 0.3
    """Difference in CIDEr (which ends at 10) that makes one sentence e times as good."""

    def __post_init__(self) -> None:
        for name in ("min_count", "max_length", "batch", "rivals"):
            if getattr(self, name) < 1:
                raise ModelError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("strangers", "grading"):
            if not getattr(self, name) >= 0:
                raise ModelError(f"{name} must be 0 or more, not {getattr(self, name)}")
        for name in ("hard", "unknown"):
            if not 0 <= getattr(self, name) <= 1:
                raise ModelError(f"{name} is a share, from 0 to 1, not {getattr(self, name)}")
        if not self.tolerance > 0:
            raise ModelError(f"tolerance must be more than 0, not {self.tolerance}")


def tell_apart(logits: Tensor, clips: Tensor) -> Tensor:
    """Each of N sentences must find its clip among the N, and each clip its sentence (InfoNCE).

    `logits` (N, N) are of sentences under clips. Where one of the clips (N,) comes again, the
    other place is neither right nor wrong.
    """
    again = (clips[:, None] == clips) & ~torch.eye(len(clips), dtype=torch.bool)
    logits = logits.masked_fill(again, float("-inf"))
    places = torch.arange(len(clips))
    return (F.cross_entropy(logits, places) + F.cross_entropy(logits.T, places)) / 2


def grade(logits: Tensor, worth: Tensor, tolerance: float) -> Tensor:
    """Sentences (N, 1 + G) must be as probable as their worth to the clip makes them (ListNet)."""
    return F.cross_entropy(logits, (worth / tolerance).softmax(-1))


class Batch(NamedTuple):
    """N captions with G rivals each."""

    clips: Tensor
    """(N,)"""
    sequences: Tensor
    """(N,)"""
    sentences: Tensor
    """(N, L)"""
    rivals: Tensor
    """(N * G, L'), the G of the first caption first."""
    worth: Tensor
    """(N, 1 + G): of the caption and of its rivals, to its clip."""


class EvaluatorTask:
    """An evaluator network, clips and their sentences, for the training loop."""

    def __init__(
        self,
        model: EvaluatorNetwork,
        lessons: Sequence[Lesson],
        held_out: Sequence[Lesson],
        options: LessonOptions,
        seed: int = 0,
    ) -> None:
        if len(lessons) < 2:
            raise CorpusError("an evaluator compares clips: at least two need captions to train on")
        self.model, self.options, self.seed = model, options, seed
        self.shelf = Shelf([lesson.evidence for lesson in lessons])
        self.categories = [lesson.category or "" for lesson in lessons]
        self.pairs, self.rivals = grade_sentences(lessons, self._encode, options.strangers, seed)
        self.exam = Exam(held_out) if len(held_out) > 1 else None

    def _encode(self, sentence: str) -> Words:
        return tuple(self.model.vocabulary.encode(sentence)[: self.options.max_length + 2])

    def steps_per_epoch(self) -> int:
        return -(-len(self.pairs) // self.options.batch)

    def batches(self, epoch: int) -> Iterator[Batch]:
        random = np.random.default_rng((self.seed, epoch))
        size, order = self.options.batch, random.permutation(len(self.pairs)).tolist()
        mixed = size * round((1 - self.options.hard) * len(order) / size)
        order[mixed:] = sorted(order[mixed:], key=self._category)
        starts = range(0, len(order), size)
        for part in random.permutation(len(starts)):
            places = order[starts[part] : starts[part] + size]
            yield self._collate([self.pairs[place] for place in places], random)

    def _category(self, place: int) -> str:
        return self.categories[self.pairs[place].clip]

    def _collate(self, pairs: Sequence[Pair], random: np.random.Generator) -> Batch:
        count = self.options.rivals
        rivals = [
            self.rivals[pair.clip][place]
            for pair in pairs
            for place in random.integers(len(self.rivals[pair.clip]), size=count)
        ]
        own = torch.tensor([[pair.said.worth] for pair in pairs])
        worth = torch.tensor([rival.worth for rival in rivals]).view(len(pairs), count)
        return Batch(
            torch.tensor([pair.clip for pair in pairs]),
            torch.tensor([pair.sequence for pair in pairs]),
            self._forget(pad([pair.said.words for pair in pairs]), random),
            self._forget(pad([rival.words for rival in rivals]), random),
            torch.cat([own, worth], dim=1),
        )

    def _forget(self, sentences: Tensor, random: np.random.Generator) -> Tensor:
        """Some words become unknown ones."""
        chosen = torch.from_numpy(random.random(sentences.shape) < self.options.unknown)
        return sentences.masked_fill(chosen & (sentences > Vocabulary.UNK), Vocabulary.UNK)

    def loss(self, batch: Batch) -> Tensor:
        model, options = self.model, self.options
        said = model.sentences(batch.sentences)
        seen = model.clips(self.shelf.take(batch.clips, batch.sequences))
        apart = tell_apart(model.sharpness * said @ seen.T, batch.clips)
        # Of rivals nobody knows the region-sequence: they are compared for the clip as a whole.
        whole = model.clips(self.shelf.take(batch.clips))
        rivals = model.sentences(batch.rivals).view(len(said), options.rivals, -1)
        listed = torch.cat([said.unsqueeze(1), rivals], dim=1)
        logits = model.sharpness * (listed @ whole.unsqueeze(-1)).squeeze(-1)
        return apart + options.grading * grade(logits, batch.worth, options.tolerance)

    def rate_factors(self) -> dict[str, float]:
        return {}

    def validate(self) -> dict[str, float]:
        return self.exam.measure(self.model) if self.exam else {}
