"""What a sentence is worth to a clip: how far it agrees with what people said of it, by CIDEr.

The COCO code weighs all references anew for each set of predictions; here that
is done once, which makes a sentence's score a few lookups.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

from densevidcap.data.text import tokenise

LONGEST = 4
"""Words of the longest n-grams."""
SIGMA = 6.0
"""Standard deviation of the penalty on a difference in length."""

Ngram = tuple[str, ...]
Array = npt.NDArray[np.float64]


class Cider:
    """The references of a set of videos, whose n-grams weigh more the fewer videos have them."""

    def __init__(self, references: Mapping[str, Sequence[str]]) -> None:
        """`references`: tokenised sentences of each video, tokens parted by blanks."""
        counts = {video: [_count(text) for text in texts] for video, texts in references.items()}
        having: Counter[Ngram] = Counter()
        for texts in counts.values():
            having.update({ngram for text in texts for ngram in text})
        self._rarest = log(len(counts))
        self._rarity = {ngram: self._rarest - log(videos) for ngram, videos in having.items()}
        self._indices = {video: self._index(texts) for video, texts in counts.items()}

    def score(self, video: str, sentence: str) -> float:
        """CIDEr of a tokenised sentence; that of a set is the mean over its videos."""
        references = self._indices[video]
        said = self._weigh(_count(sentence))
        shared = np.zeros((LONGEST, len(references.lengths)))
        for ngram, weight in said.weights.items():
            if ngram in references.weights:
                places, weights = references.weights[ngram]
                shared[len(ngram) - 1, places] += np.minimum(weight, weights) * weights
        norms = said.norms[:, None] * references.norms
        cosines = np.divide(shared, norms, out=np.zeros_like(shared), where=norms > 0)
        penalty = np.exp(-((said.length - references.lengths) ** 2) / (2 * SIGMA**2))
        return float(10 * (cosines * penalty).mean())

    def _weigh(self, counts: Mapping[Ngram, int]) -> _Weighed:
        weights = {
            ngram: count * self._rarity.get(ngram, self._rarest) for ngram, count in counts.items()
        }
        squares = np.zeros(LONGEST)
        for ngram, weight in weights.items():
            squares[len(ngram) - 1] += weight**2
        # The COCO code takes the number of bigrams for the length.
        length = sum(count for ngram, count in counts.items() if len(ngram) == 2)
        return _Weighed(weights, np.sqrt(squares), length)

    def _index(self, texts: Sequence[Mapping[Ngram, int]]) -> _Index:
        weighed = [self._weigh(text) for text in texts]
        found: dict[Ngram, list[tuple[int, float]]] = defaultdict(list)
        for place, text in enumerate(weighed):
            for ngram, weight in text.weights.items():
                found[ngram].append((place, weight))
        return _Index(
            {
                ngram: (np.array([place for place, _ in pairs]), np.array([w for _, w in pairs]))
                for ngram, pairs in found.items()
            },
            np.array([text.norms for text in weighed]).T,
            np.array([text.length for text in weighed]),
        )


@dataclass(frozen=True)
class _Weighed:
    """A sentence: the weight of each n-gram, (4,) norms by the n-grams' length, its length."""

    weights: Mapping[Ngram, float]
    norms: Array
    length: int


@dataclass(frozen=True)
class _Index:
    """N references: where each n-gram stands and its weight there, (4, N) norms, (N,) lengths."""

    weights: Mapping[Ngram, tuple[npt.NDArray[np.intp], Array]]
    norms: Array
    lengths: npt.NDArray[np.intp]


def _count(sentence: str) -> Counter[Ngram]:
    words = sentence.split()
    return Counter(
        tuple(words[start : start + size])
        for size in range(1, LONGEST + 1)
        for start in range(len(words) - size + 1)
    )


class Consensus:
    """The captions of a set of clips; their words weigh more the fewer clips have them."""

    def __init__(self, captions: Mapping[str, Sequence[str]]) -> None:
        self._cider = Cider({clip: [_clean(s) for s in said] for clip, said in captions.items()})

    def weigh(self, clip: str, sentence: str) -> float:
        """CIDEr (from 0 to 10) of any sentence against all of the clip's captions."""
        return self._cider.score(clip, _clean(sentence))


def _clean(sentence: str) -> str:
    return " ".join(tokenise(sentence))
