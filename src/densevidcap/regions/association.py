"""Which region-sequence a sentence describes: winner-takes-all (section 3.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densevidcap.records import FloatArray, FrameGrid, RegionSequence
from densevidcap.regions.objectives import IndexArray, informativeness
from densevidcap.regions.sequences import pool_words


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
