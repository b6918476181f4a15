"""The words that set a clip's region-sequences apart from each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from densevidcap.data.lexicon import CONTENT, Lexicon
from densevidcap.regions.search import pool_words
from densevidcap.types import FloatArray, FrameGrid, RegionSequence

SHARED = 0.9
"""How much of what the other sequences have too is held against a word. With 1, sequences that are
alike would be told apart by chance; so they are given their most probable words."""


@dataclass(frozen=True)
class SequenceWord:
    """A word along a region-sequence."""

    word: str
    responses: tuple[float, ...]
    """P(word | region), one for each of the sequence's frames."""

    @property
    def probability(self) -> float:
        """In the region that shows it best."""
        return max(self.responses)


@dataclass(frozen=True)
class WordedSequence:
    """A region-sequence with the words that it shows best beyond the others, best first."""

    sequence: RegionSequence
    words: tuple[SequenceWord, ...]


def distinguish(pooled: FloatArray) -> FloatArray:
    """(K, W): how well each word sets a sequence apart, from max-pooled probabilities (K, W).

    A word counts by its probability beyond the mean of the other sequences.
    """
    others = (pooled.sum(axis=0) - pooled) / max(1, len(pooled) - 1)
    return np.asarray(pooled - SHARED * others)


def choose_words(
    sequences: Sequence[RegionSequence], clip: FrameGrid, lexicon: Lexicon, top: int
) -> list[WordedSequence]:
    """Give each sequence its `top` words among those that one can see."""
    content = np.flatnonzero([entry.pos in CONTENT for entry in lexicon.entries])
    scores = distinguish(pool_words(sequences, clip)[:, content])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
    return [
        WordedSequence(sequence, tuple(_follow(sequence, clip, lexicon, int(p)) for p in ids))
        for sequence, ids in zip(sequences, content[order], strict=True)
    ]


def _follow(
    sequence: RegionSequence, clip: FrameGrid, lexicon: Lexicon, index: int
) -> SequenceWord:
    responses = sequence.follow(clip.probabilities[:, :, index])
    return SequenceWord(lexicon.words[index], tuple(responses.tolist()))
