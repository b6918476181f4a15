"""Which sentence agrees best with everything that a captioner would say of a clip.

A likely sentence is short and safe, and the likeliest of one sequence may be an accident. Sentences
drawn for all sequences are a sample of what people might say; the one that is most like the others
is the best guess (minimum Bayes risk). Likeness is that of CIDEr, without its longest n-grams: the
cosine of words and of pairs of words, weighed by rarity, less where lengths differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from densevidcap.data.text import tokenise
from densevidcap.regions.objectives import Float64Array

LONGEST = 2
"""Words of the longest n-grams: longer ones are rarely shared, and by chance."""
SIGMA = 6.0
"""Standard deviation of the penalty on a difference in length, as in CIDEr."""
PLAIN = 0.5
"""Rarity of words that every caption has, which the latent space does not know."""


def agree(
    sentences: Sequence[str], counts: Sequence[int], rarity: Mapping[str, float]
) -> Float64Array:
    """(S,): each sentence's mean likeness to all, each as often as it was found."""
    words = [tokenise(sentence) for sentence in sentences]
    likeness = np.zeros((len(sentences), len(sentences)))
    for size in range(1, LONGEST + 1):
        likeness += _compare([_weigh(each, size, rarity) for each in words]) / LONGEST
    lengths = np.array([len(each) for each in words])
    likeness *= np.exp(-((lengths[:, None] - lengths) ** 2) / (2 * SIGMA**2))
    weights = np.asarray(counts, np.float64)
    return np.asarray(likeness @ weights / weights.sum())


def _weigh(words: Sequence[str], size: int, rarity: Mapping[str, float]) -> dict[str, float]:
    """The sentence's n-grams, each by its count and the mean rarity of its words."""
    ngrams = [words[start : start + size] for start in range(len(words) - size + 1)]
    counts = Counter(" ".join(ngram) for ngram in ngrams)
    weights = {
        " ".join(ngram): sum(rarity.get(word, PLAIN) for word in ngram) / size for ngram in ngrams
    }
    return {ngram: count * weights[ngram] for ngram, count in counts.items()}


def _compare(bags: Sequence[Mapping[str, float]]) -> Float64Array:
    """(S, S): cosines; 0 for a bag without n-grams."""
    place = {
        ngram: column for column, ngram in enumerate(dict.fromkeys(n for b in bags for n in b))
    }
    matrix = np.zeros((len(bags), max(1, len(place))))
    for row, bag in enumerate(bags):
        for ngram, weight in bag.items():
            matrix[row, place[ngram]] = weight
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    units = matrix / np.maximum(lengths, np.finfo(np.float64).tiny)
    return np.asarray(units @ units.T)
