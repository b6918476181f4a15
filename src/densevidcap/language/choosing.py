"""Which of a clip's candidates to say: good ones that differ, each tied to one region-sequence.

Sentences are added one by one. The next is the one with the highest

    quality(s) - diversity * mean of cos(s, t) over the sentences t chosen before

Quality is how well a sentence agrees with all that was found for the clip (`consensus.py`).
Cosines are those of the latent space in which the paper measures how different captions are
(Eq. 15). As for region-sequences, the first is the best by itself, and each further one must also
differ.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from densevidcap.errors import ModelError
from densevidcap.regions.objectives import Float64Array


@dataclass(frozen=True)
class ChoiceOptions:
    """How sentences are weighed against each other."""

    k: int = 10
    """Sentences, or as many as there are."""
    diversity: float = 0.4
    """What sameness with those chosen costs. Quality is from 0 to 1, rarely above .5, a cosine at
    most 1."""

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ModelError(f"k must be at least 1, not {self.k}")
        if not self.diversity >= 0:
            raise ModelError(f"diversity must be 0 or more, not {self.diversity}")


def choose(
    sentences: Sequence[Hashable],
    quality: Float64Array,
    meanings: Float64Array,
    options: ChoiceOptions,
) -> list[int]:
    """Places of the chosen sentences, in order of choice; of equal ones only one is taken.

    `quality` is (S,), `meanings` (S, D) are the sentences' places in the latent space.
    """
    lengths = np.linalg.norm(meanings, axis=1, keepdims=True)
    units = meanings / np.maximum(lengths, np.finfo(np.float64).tiny)
    sameness = np.zeros(len(sentences))
    chosen: list[int] = []
    is_open = np.ones(len(sentences), bool)
    while len(chosen) < options.k and is_open.any():
        gains = quality - options.diversity * sameness / max(1, len(chosen))
        best = int(np.where(is_open, gains, -np.inf).argmax())
        chosen.append(best)
        sameness += units @ units[best]
        is_open &= [sentence != sentences[best] for sentence in sentences]
    return chosen
