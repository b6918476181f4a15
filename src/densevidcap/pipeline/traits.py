"""What speaks for each of a clip's sentences, as numbers from which confidence is made.

A sentence is as right as its weakest word. So most of them come in pairs, the mean over the
sentence's content words and the least of any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from densevidcap.data.lexicon import list_content_words
from densevidcap.data.phrases import Phrases, list_phrases
from densevidcap.data.text import tokenise
from densevidcap.pipeline.shown import Shown
from densevidcap.types import FloatArray

TRAITS = (
    # How well it agrees with all that was found (minimum Bayes risk), and the evaluator's score.
    "agreement",
    "fit",
    # In how many of the sampled sentences its words are, as logs.
    "said",
    "least_said",
    # How probable its words are in the clip, and in the sequence that shows each best, as log-odds.
    "shown",
    "least_shown",
    "own",
    "least_own",
    # How many clips of the corpus have its words, and its pair of words that fewest have, as logs.
    "usual",
    "least_usual",
    "fluency",
    # Content words; log P(sentence) a word.
    "length",
    "likelihood",
)
"""In their order along every axis F."""

LEAST = 1e-5
"""Probabilities are cut off there, and at 1 less it."""
NEVER_SEEN = 1e-4
"""Of a word that the lexicon does not have."""


def find_traits(
    sentences: Sequence[str],
    samples: Mapping[str, int],
    shown: Shown,
    phrases: Phrases,
    agreement: FloatArray,
    fit: FloatArray,
    likelihood: FloatArray,
) -> FloatArray:
    """(S, F): of each sentence; `samples` says how often each that was sampled was."""
    total = sum(samples.values())
    counts: Counter[str] = Counter()
    for sentence, count in samples.items():
        counts.update(dict.fromkeys(list_content_words(sentence), count))
    strongest = shown.sequences.max(axis=0, initial=0)

    @cache
    def weigh(word: str) -> tuple[float, float, float, float]:
        place = shown.find(word)
        seen = (NEVER_SEEN,) * 2 if place is None else (shown.clip[place], strongest[place])
        said = np.log((counts[word] + 0.5) / (total + 1))
        clip, own = (_log_odds(float(each)) for each in seen)
        return float(said), clip, own, -phrases.rarity(word)

    rows = []
    for row, sentence in enumerate(sentences):
        words = list_content_words(sentence)
        values = np.array([weigh(word) for word in words] or [weigh("")])
        means, least = values.mean(axis=0), values.min(axis=0)
        pairs = list_phrases(tokenise(sentence), 2)
        rows.append(
            [
                agreement[row],
                fit[row],
                *np.stack([means, least], axis=1)[:3].flatten(),
                means[3],
                least[3],
                min((-phrases.rarity(pair) for pair in pairs), default=0.0),
                len(words),
                likelihood[row],
            ]
        )
    return np.array(rows, np.float32).reshape(len(sentences), len(TRAITS))


def _log_odds(probability: float) -> float:
    cut = min(max(probability, LEAST), 1 - LEAST)
    return float(np.log(cut / (1 - cut)))
