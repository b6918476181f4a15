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
from typing import NamedTuple

import numpy as np

from densevidcap.data.lexicon import list_content_words
from densevidcap.data.text_files import read_json
from densevidcap.errors import ModelError
from densevidcap.metrics.cider import Consensus
from densevidcap.model_folder import write_json
from densevidcap.models.calibration import Calibration, fit_logistic
from densevidcap.types import FloatArray


class Judged(NamedTuple):
    """Sentences of a held-out clip, (S,) each."""

    agreement: FloatArray
    fit: FloatArray
    """The evaluator's scores, or zeros."""
    value: FloatArray
    """CIDEr against the clip's captions."""
    confirmed: FloatArray
    """The share of content words that the captions have."""


@dataclass(frozen=True)
class Ranking:
    """What worth and confidence are made of."""

    fit: float = 0.0
    """What the evaluator's score counts beside agreement."""
    slope: float = 4.0
    """With the offset: confidence is the sigmoid of slope * worth + offset."""
    offset: float = -2.0

    def rate(self, agreement: FloatArray, fit: FloatArray) -> FloatArray:
        """(S,): confidence, which ranks as worth does."""
        return Calibration(self.slope, self.offset).apply(agreement + self.fit * fit)

    @classmethod
    def learn(cls, clips: Sequence[Judged]) -> Ranking:
        """From sentences of clips that the model has not learned from."""
        weight = _weigh_evaluator(clips)
        worth = np.concatenate([clip.agreement + weight * clip.fit for clip in clips])
        confirmed = np.concatenate([clip.confirmed for clip in clips])
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
    sentences: Sequence[str],
    agreement: FloatArray,
    fit: FloatArray,
    clip: str,
    captions: Sequence[str],
    consensus: Consensus,
) -> Judged:
    """What the sentences are worth by the clip's captions."""
    known = {word for caption in captions for word in list_content_words(caption)}
    said = [list_content_words(sentence) for sentence in sentences]
    return Judged(
        agreement,
        fit,
        np.array([consensus.weigh(clip, sentence) for sentence in sentences], np.float32),
        np.array([_share(words, known) for words in said], np.float32),
    )


def _share(words: Sequence[str], known: Set[str]) -> float:
    return sum(word in known for word in words) / max(1, len(words))


def _weigh_evaluator(clips: Sequence[Judged]) -> float:
    """Its weight beside agreement where both predict which of a clip's sentences are better."""
    centred = [np.stack([c.agreement, c.fit, c.value]) for c in clips]
    agreement, fit, value = np.concatenate(
        [each - each.mean(axis=1, keepdims=True) for each in centred], axis=1
    )
    weights, *_ = np.linalg.lstsq(np.stack([agreement, fit], axis=1), value, rcond=None)
    return float(weights[1] / weights[0]) if min(weights) > 0 else 0.0
