"""Which sentences to say of a clip: good ones that together tell the most.

A set S of candidates is worth

    F(S) = sum_{s in S} quality(s) + weight * sum_{w in words of S} value(w)

Each word counts once however often it is said, so the second sum is submodular, and the greedy
choice is within 1 - 1/e of the best for it. A word's value is positive where the clip probably
shows it: a sentence about something else may be new, but it tells nothing of the clip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from densevidcap.language.describer import Candidate
from densevidcap.records import FloatArray


@dataclass(frozen=True)
class ChoiceOptions:
    """How sentences are weighed against each other."""

    k: int = 10
    diversity: float = 1.0
    """How much new words count beside the sentences' own scores."""
    special: float = 0.3
    """How much of log P(sentence | clip) is held against a sentence, so that what any of the
    clip's sequences would say comes after what this one says."""
    doubt: float = 0.3
    """Probability from which on a word is worth saying."""
    repeat: float = 0.5
    """Taken from a sentence for each of its region-sequence's sentences that are chosen already."""


def choose(
    candidates: Sequence[Candidate],
    content: Sequence[frozenset[int]],
    values: FloatArray,
    clip_scores: FloatArray,
    options: ChoiceOptions,
) -> list[int]:
    """Places of the chosen candidates, in order of choice.

    `content` (S) holds the lexicon words of each, `values` (W,) the clip's word probabilities,
    `clip_scores` (S,) each sentence's mean score over the clip's sequences.
    """
    worth = np.asarray(values, np.float64) - options.doubt
    quality = np.array([each.score for each in candidates]) - options.special * clip_scores
    said: set[int] = set()
    texts: set[tuple[int, ...]] = set()
    used: dict[int, int] = {}
    chosen: list[int] = []
    while len(chosen) < options.k:
        best, best_gain = -1, -np.inf
        for place, candidate in enumerate(candidates):
            if candidate.words in texts:
                continue
            new = content[place] - said
            gain = quality[place] - options.repeat * used.get(candidate.sequence, 0)
            gain += options.diversity * sum(worth[word] for word in new)
            if gain > best_gain:
                best, best_gain = place, gain
        if best < 0:
            break
        chosen.append(best)
        texts.add(candidates[best].words)
        said |= content[best]
        used[candidates[best].sequence] = used.get(candidates[best].sequence, 0) + 1
    return chosen
