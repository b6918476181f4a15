"""How sentences rank, and how sure we are of each.

A sentence is worth how well it agrees with all that was found for its clip, and what the evaluator
says of it, as far as held-out clips show that the evaluator helps to tell a clip's better sentences
from its worse ones. Confidence grows with worth. It is calibrated on held-out clips to be the share
of the sentence's content words that people also use when they describe the clip.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional as F

from densevidcap.data.lexicon import list_content_words
from densevidcap.data.text_files import read_json
from densevidcap.errors import ModelError
from densevidcap.metrics.cider import Consensus
from densevidcap.model_folder import write_json
from densevidcap.types import Candidates, FloatArray

Array = npt.NDArray[np.floating[Any]]


class Worth(NamedTuple):
    """What the captions of a held-out clip say of its candidates, (S,) each."""

    value: FloatArray
    """CIDEr against the clip's captions."""
    confirmed: FloatArray
    """The share of content words that the captions have."""


Judged = tuple[Candidates, Worth]


@dataclass(frozen=True)
class Ranking:
    """What worth and confidence are made of."""

    fit: float = 0.0
    """What the evaluator's score counts beside quality."""
    slope: float = 4.0
    """With the offset: confidence is the sigmoid of slope * worth + offset."""
    offset: float = -2.0

    def rate(self, quality: FloatArray, fit: FloatArray) -> FloatArray:
        """(S,): confidence, which ranks as worth does."""
        return Calibration(self.slope, self.offset).apply(quality + self.fit * fit)

    def sort(self, candidates: Candidates) -> list[str]:
        """The sentences, the one with the highest confidence first."""
        order = np.argsort(-self.rate(candidates.quality, candidates.fit), kind="stable")
        return [candidates.sentences[index] for index in order]

    @classmethod
    def learn(cls, clips: Sequence[Judged]) -> Ranking:
        """From sentences of clips that the model has not learned from."""
        weight = _weigh_evaluator(clips)
        worth = np.concatenate([found.quality + weight * found.fit for found, _ in clips])
        confirmed = np.concatenate([by_people.confirmed for _, by_people in clips])
        slope, offset = fit_logistic(worth, confirmed, np.full(len(worth), 1 / len(worth)))
        return cls(weight, max(slope, 0.0), offset)

    def save(self, path: Path) -> None:
        write_json(path, asdict(self))

    @classmethod
    def load(cls, path: Path) -> Ranking:
        """The default where there is none: a model that was never calibrated."""
        if not path.exists():
            return cls()
        try:
            return cls(**{name: float(value) for name, value in read_json(path).items()})
        except (TypeError, ValueError, AttributeError):
            raise ModelError(f"{path}: not a ranking; copy the whole model folder") from None


def judge(
    sentences: Sequence[str], clip: str, captions: Sequence[str], consensus: Consensus
) -> Worth:
    """What the sentences are worth by the clip's captions."""
    known = {word for caption in captions for word in list_content_words(caption)}
    said = [list_content_words(sentence) for sentence in sentences]
    return Worth(
        np.array([consensus.weigh(clip, sentence) for sentence in sentences], np.float32),
        np.array([_share(words, known) for words in said], np.float32),
    )


def _share(words: Sequence[str], known: Set[str]) -> float:
    return sum(word in known for word in words) / max(1, len(words))


def _weigh_evaluator(clips: Sequence[Judged]) -> float:
    """Its weight beside quality where both predict which of a clip's sentences are better."""
    centred = [np.stack([found.quality, found.fit, worth.value]) for found, worth in clips]
    quality, fit, value = np.concatenate(
        [each - each.mean(axis=1, keepdims=True) for each in centred], axis=1
    )
    weights, *_ = np.linalg.lstsq(np.stack([quality, fit], axis=1), value, rcond=None)
    return float(weights[1] / weights[0]) if min(weights) > 0 else 0.0


@dataclass(frozen=True)
class Calibration:
    """P(right | score) = sigmoid(slope * score + offset)."""

    slope: float
    """Never negative: a better score never lowers the confidence."""
    offset: float

    def apply(self, scores: FloatArray) -> FloatArray:
        logits = self.slope * np.asarray(scores, np.float64) + self.offset
        # The tanh form of the sigmoid never overflows.
        return np.asarray(0.5 + 0.5 * np.tanh(0.5 * logits), np.float32)


def fit_logistic(scores: Array, targets: Array, weights: Array) -> tuple[float, float]:
    """(slope, offset) of the likeliest sigmoid for targets from 0 to 1; all are (N,)."""
    x, y, w = (torch.from_numpy(each.astype(np.float64)) for each in (scores, targets, weights))
    line = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([line], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        search.zero_grad()
        value = F.binary_cross_entropy_with_logits(line[0] * x + line[1], y, w, reduction="sum")
        value.backward()  # type: ignore[no-untyped-call]
        return value

    search.step(loss)  # type: ignore[no-untyped-call]
    slope, offset = line.tolist()
    return slope, offset
