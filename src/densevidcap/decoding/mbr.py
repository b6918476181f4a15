"""Which sentence agrees best with everything that a captioner would say of a clip.

A likely sentence is short and safe, and the likeliest of one sequence may be an accident. Sentences
sampled for all sequences stand for what people might say; the one that is most like them is the
best guess (minimum Bayes risk). Similarity has two parts. One is that of CIDEr, without its
longest n-grams: the cosine of words and of pairs of words, weighed by rarity, less where lengths
differ. The other is that of METEOR: how many of the other's words a sentence has (recall), and a
little how many of its own the other has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from densevidcap.data.lexicon import is_content_word
from densevidcap.data.phrases import LONGEST, Phrases, list_phrases
from densevidcap.data.text import tokenise
from densevidcap.regions.objectives import Float64Array

SIGMA = 6.0
"""Standard deviation of the penalty on a difference in length, as in CIDEr."""
RECALL = 0.85
"""What having the other's words counts beside having no others, as in METEOR."""
LITTLE = 1 / 3
"""What an article or the like counts beside a content word, as in METEOR."""
OVERLAP = 0.5
"""Share of the second part."""
TINY = np.finfo(np.float64).tiny


def mbr_scores(sentences: Sequence[str], counts: Sequence[int], phrases: Phrases) -> Float64Array:
    """(S,): each sentence's mean similarity to all, each as often as it counts; from 0 to 1."""
    words = [tokenise(sentence) for sentence in sentences]
    sizes = range(1, LONGEST + 1)
    counted = [_count([list_phrases(each, size) for each in words]) for size in sizes]
    cosines = np.mean([_compare(b, [*map(phrases.rarity, said)]) for b, said in counted], axis=0)
    lengths = np.array([len(each) for each in words])
    cosines *= np.exp(-((lengths[:, None] - lengths) ** 2) / (2 * SIGMA**2))
    bags, said = counted[0]
    overlaps = _overlap(bags, [1.0 if is_content_word(word) else LITTLE for word in said])
    similarity = (1 - OVERLAP) * cosines + OVERLAP * overlaps
    weights = np.asarray(counts, np.float64)
    return np.asarray(similarity @ weights / weights.sum())


def _count(phrases: Sequence[Sequence[str]]) -> tuple[Float64Array, list[str]]:
    """(S, P): how often a sentence has each of P phrases; these, in the order of their coming."""
    place: dict[str, int] = {}
    columns = [place.setdefault(phrase, len(place)) for each in phrases for phrase in each]
    rows = np.repeat(np.arange(len(phrases)), [len(each) for each in phrases])
    cells = rows * len(place) + np.array(columns, np.intp)
    bags = np.bincount(cells, minlength=len(phrases) * len(place)).astype(np.float64)
    return bags.reshape(len(phrases), len(place)), list(place)


def _compare(bags: Float64Array, weights: Sequence[float]) -> Float64Array:
    """(S, S): cosines, in which saying something twice makes a sentence longer but no more alike.

    0 for a bag without anything.
    """
    weighed = np.asarray(weights, np.float64)
    lengths = np.linalg.norm(bags * weighed, axis=1, keepdims=True)
    units = np.minimum(bags, 1) * weighed / np.maximum(lengths, TINY)
    return np.asarray(units @ units.T)


def _overlap(bags: Float64Array, weights: Sequence[float]) -> Float64Array:
    """(S, S): of each sentence with each other one as its reference."""
    has = np.minimum(bags, 1)
    weighed = has * np.asarray(weights, np.float64)
    sizes, shared = weighed.sum(axis=1), weighed @ has.T
    # shared / (RECALL * size of the other + (1 - RECALL) * own size): the weighed harmonic mean.
    return np.asarray(shared / np.maximum(RECALL * sizes + (1 - RECALL) * sizes[:, None], TINY))
