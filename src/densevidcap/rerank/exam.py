"""An evaluator's exam: clips that it has not learned from, all captions against all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from densevidcap.records import FloatArray
from densevidcap.rerank.calibration import Calibration, calibrate, measure_error
from densevidcap.rerank.consensus import Consensus
from densevidcap.rerank.evaluator import encode_sentences
from densevidcap.rerank.evidence import Shelf
from densevidcap.rerank.lessons import Lesson
from densevidcap.rerank.measures import (
    agree,
    area_under_curve,
    rank_captions,
    rank_clips,
    recall,
    split_own,
)
from densevidcap.rerank.network import EvaluatorNetwork


class Exam:
    """Of C clips with S captions."""

    def __init__(self, lessons: Sequence[Lesson]) -> None:
        self.clips = len(lessons)
        self.shelf = Shelf([lesson.evidence for lesson in lessons])
        self.captions = [caption for lesson in lessons for caption in lesson.captions]
        self.owners = np.repeat(np.arange(self.clips), [len(lesson.captions) for lesson in lessons])
        consensus = Consensus({lesson.clip: lesson.captions for lesson in lessons})
        self.weaker = {
            clip: (
                lesson.weaker,
                np.array([consensus.weigh(lesson.clip, s) for s in lesson.weaker]),
            )
            for clip, lesson in enumerate(lessons)
            if lesson.weaker
        }

    @torch.inference_mode()
    def score(self, model: EvaluatorNetwork) -> FloatArray:
        """(S, C): every caption under every clip."""
        said = model.sentences(encode_sentences(self.captions, model.vocabulary))
        return np.asarray((said @ self._see(model).T).numpy())

    @torch.inference_mode()
    def measure(self, model: EvaluatorNetwork) -> dict[str, float]:
        """In percent: recall of clips and captions, and the area under the curve of own ones.

        `agreement` is on a captioner's sentences: how often the better of two scores better.
        """
        scores = self.score(model)
        figures = {
            **recall(rank_clips(scores, self.owners), "clip"),
            **recall(rank_captions(scores, self.owners), "caption"),
            "auc": 100 * area_under_curve(*split_own(scores, self.owners)),
        }
        if self.weaker:
            figures["agreement"] = 100 * self._agree(model)
        return figures

    def calibrate(self, model: EvaluatorNetwork) -> tuple[Calibration, float]:
        """From each caption under its own clip and under another one, drawn at random.

        With the expected error, of calibrations from half of the clips on the other half.
        """
        scores, owners = self.score(model), self.owners
        steps = np.random.default_rng(0).integers(1, self.clips, size=len(owners))
        rows = np.arange(len(owners))
        own, other = scores[rows, owners], scores[rows, (owners + steps) % self.clips]
        odd = owners % 2 == 1
        confidence, right = [], []
        for half in (odd, ~odd):
            calibration = calibrate(own[half], other[half])
            for part, truth in ((own[~half], 1.0), (other[~half], 0.0)):
                confidence.append(calibration.apply(part))
                right.append(np.full(len(part), truth, np.float32))
        error = measure_error(np.concatenate(confidence), np.concatenate(right))
        return calibrate(own, other), error

    def _agree(self, model: EvaluatorNetwork) -> float:
        seen = self._see(model)
        shares = []
        for clip, (sentences, worth) in self.weaker.items():
            said = model.sentences(encode_sentences(sentences, model.vocabulary))
            shares.append(agree((said @ seen[clip]).numpy(), worth))
        return float(np.nanmean(shares))

    def _see(self, model: EvaluatorNetwork) -> Tensor:
        """(C, E)"""
        seen: Tensor = model.clips(self.shelf.take(torch.arange(self.clips)))
        return seen
