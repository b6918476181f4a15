"""Which region-sequence a sentence describes: winner-takes-all (section 3.2.2), or a fair share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densevidcap.regions.objectives import IndexArray, informativeness
from densevidcap.regions.search import pool_words
from densevidcap.types import FloatArray, FrameGrid, RegionSequence


@dataclass(frozen=True)
class Association:
    """Matching scores of S sentences and K sequences."""

    scores: FloatArray
    """(S, K): sum of the probabilities, from the threshold on, of the sentence's words (Eq. 10)."""

    @property
    def winners(self) -> IndexArray:
        """(S,): the sequence of highest score; of equals, the one chosen first."""
        return np.asarray(self.scores.argmax(axis=1))

    @property
    def supported(self) -> npt.NDArray[np.bool_]:
        """(S,): whether any sequence shows any of the sentence's words at all."""
        return np.asarray(self.scores.max(axis=1) > 0)


def associate(
    sentences: Sequence[IndexArray], sequences: Sequence[RegionSequence], clip: FrameGrid
) -> Association:
    """Let the sequences compete for each sentence, given as its words' places in the lexicon."""
    pooled = pool_words(sequences, clip)
    scores = [informativeness(pooled, words) for words in sentences]
    return Association(np.array(scores, np.float32).reshape(len(sentences), len(sequences)))


def spread(scores: FloatArray, most: int) -> IndexArray:
    """(S,): a sequence for each sentence, best matches first, none with more than its share.

    Scores (S, K) are first centred: neither a sentence of many words nor a sequence that has a bit
    of everything is to win for that alone.
    """
    sentences, sequences = scores.shape
    most = max(most, -(-sentences // sequences))
    centred = scores - scores.mean(axis=1, keepdims=True)
    if sentences > 1:  # a single one has no other to be compared with
        centred -= centred.mean(axis=0)
    taken = np.zeros(sequences, np.intp)
    pairs = np.full(sentences, -1)
    for flat in np.argsort(-centred, axis=None, kind="stable"):
        sentence, sequence = divmod(int(flat), sequences)
        if pairs[sentence] < 0 and taken[sequence] < most:
            pairs[sentence] = sequence
            taken[sequence] += 1
    return pairs
