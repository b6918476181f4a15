"""Which region-sequence a sentence is learned with: winner-takes-all (Sec. 3.2.2), or a share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from densevidcap.config import AssociationConfig
from densevidcap.regions.objectives import BoolArray, IndexArray, informativeness
from densevidcap.types import FloatArray

LEFT_OUT = -1
"""Instead of a sequence's index: the sentence is learned with none."""
FLOOR = 0.005
"""Added to probabilities before shares are taken: of a word that none shows, all show the same."""


@dataclass(frozen=True)
class Matches:
    """How well K sequences show each of S sentences."""

    sums: FloatArray
    """(S, K): sum of the probabilities, from the threshold on, of the sentence's words (Eq. 10)."""
    shares: FloatArray
    """(S, K): sum over the sentence's content words of a sequence's share of their probability."""

    @property
    def supported(self) -> BoolArray:
        """(S,): whether any sequence shows any of the sentence's words at all."""
        return np.asarray(self.sums.max(axis=1, initial=0) > 0)

    @property
    def own(self) -> IndexArray:
        """(S,): the sequence that shows more of the sentence than any other, or `LEFT_OUT`."""
        return np.where(self.supported, self.shares.argmax(axis=1), LEFT_OUT)


def match(
    sentences: Sequence[IndexArray],
    pooled: FloatArray,
    threshold: float,
    is_content: BoolArray | None = None,
) -> Matches:
    """Compare sentences, each the ids of its words in the lexicon, with sequences' words (K, W).

    `is_content` (W,) are the words that `shares` count; None for all.
    """
    raised = pooled + FLOOR
    share = raised / raised.sum(axis=0)
    if is_content is not None:
        share = share * is_content
    shape = len(sentences), len(pooled)
    sums = [informativeness(pooled, words, threshold) for words in sentences]
    shares = [share[:, words].sum(axis=1) for words in sentences]
    return Matches(
        np.array(sums, np.float32).reshape(shape), np.array(shares, np.float32).reshape(shape)
    )


def associate(matches: Matches, config: AssociationConfig) -> IndexArray:
    """(S,): the sequence that each sentence is learned with, or `LEFT_OUT`.

    The winner is the sequence of the highest sum; of equals, the one chosen first.
    """
    supported = matches.supported
    if config.method == "spread" and config.unsupported == "spread":
        return spread(matches.shares, config.most)
    chosen = np.full(len(supported), LEFT_OUT)
    if config.method == "winner":
        chosen[supported] = matches.sums[supported].argmax(axis=1)
    else:
        chosen[supported] = spread(matches.shares[supported], config.most)
    if config.unsupported == "first":
        chosen[~supported] = 0
    elif config.unsupported == "spread":
        chosen[~supported] = spread(matches.shares[~supported], most=1)
    return chosen


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
    pairs = np.full(sentences, LEFT_OUT)
    for flat in np.argsort(-centred, axis=None, kind="stable"):
        sentence, sequence = divmod(int(flat), sequences)
        if pairs[sentence] < 0 and taken[sequence] < most:
            pairs[sentence] = sequence
            taken[sequence] += 1
    return pairs
