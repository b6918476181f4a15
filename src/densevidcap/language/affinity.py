"""Which of a clip's region-sequences a sentence is about.

Two witnesses say it: the captioner, under which sequence the sentence is likelier than under the
others; and the Lexical-FCN, which sequence shows the sentence's words better than the others, as in
the paper's association of captions (Eq. 10).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from densevidcap.data.content import list_content_words
from densevidcap.records import FloatArray
from densevidcap.regions.objectives import Float64Array

GROUNDING = 0.4
"""What the words' witness counts beside the captioner's."""
FLOOR = 0.01
"""Added to probabilities: smaller ones tell nothing."""


def find_affinities(
    sentences: Sequence[str], likelihoods: FloatArray, shown: FloatArray, words: Sequence[str]
) -> FloatArray:
    """(S, K): how much more a sequence has of a sentence than the sequences on average, as a log.

    `likelihoods` (S, K) are log P(sentence | sequence); `shown` (K, V) are the highest
    probabilities of the V `words` along each sequence.
    """
    special = find_special(likelihoods) + GROUNDING * _find_shown(sentences, shown, words)
    return np.asarray(special, np.float32)


def find_special(likelihoods: FloatArray | Float64Array) -> Float64Array:
    """(S, K): log P(sentence | sequence) / mean of P(sentence | any)."""
    shifted = (likelihoods - likelihoods.max(axis=1, keepdims=True)).astype(np.float64)
    return np.asarray(shifted - np.log(np.exp(shifted).mean(axis=1, keepdims=True)))


def _find_shown(sentences: Sequence[str], shown: FloatArray, words: Sequence[str]) -> Float64Array:
    """(S, K): the same of the sentence's content words, added up."""
    raised = np.asarray(shown, np.float64) + FLOOR
    ratios = np.log(raised / raised.mean(axis=0))
    place = {word: column for column, word in enumerate(words[: shown.shape[1]])}
    found = np.zeros((len(sentences), len(shown)))
    for row, sentence in enumerate(sentences):
        said = {place[word] for word in list_content_words(sentence) if word in place}
        found[row] = ratios[:, sorted(said)].sum(axis=1)
    return found
