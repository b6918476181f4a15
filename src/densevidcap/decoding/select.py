"""Which of a clip's sentences to say, and of which region-sequence.

Two witnesses say it: the captioner, under which sequence the sentence is likelier than under the
others; and the Lexical-FCN, which sequence shows the sentence's words better than the others, as in
the paper's association of captions (Eq. 10).

Sentences are added one by one. The next, s of sequence r, is the pair with the highest

    quality(s) + detail * confidence(s) * what it tells(s) + coverage * new things(s)
        + specificity * affinity(s, r) - diversity * mean of cos(s, t) over those chosen, t

less `reuse` for each sentence that the sequence has already. Quality is how well a sentence agrees
with all that was found for the clip (`mbr.py`) and fits it by an evaluator, if there is one; what
it tells are its content words beyond two; new things are those that the clip shows and no sentence
has named yet, each by how probable it is; affinity is how much more of it the sequence has than the
clip's others. Cosines are those of the latent space in which the paper measures how different
captions are (Eq. 15). As for region-sequences, the first is the best by itself, and each further
one must also differ, and be sure enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from densevidcap.config import SelectionConfig
from densevidcap.data.lexicon import list_content_words
from densevidcap.regions.objectives import Float64Array
from densevidcap.types import Candidates, FloatArray

GROUNDING = 0.4
"""What the words' witness counts beside the captioner's."""
PLAIN = 2
"""Content words of a sentence that says nothing: "a man is talking"."""
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
    columns = {word: column for column, word in enumerate(words[: shown.shape[1]])}
    found = np.zeros((len(sentences), len(shown)))
    for row, sentence in enumerate(sentences):
        said = {columns[word] for word in list_content_words(sentence) if word in columns}
        found[row] = ratios[:, sorted(said)].sum(axis=1)
    return found


class Choice(NamedTuple):
    """A sentence to say, by its index, and the region-sequence that it describes."""

    candidate: int
    sequence: int


def choose(
    candidates: Candidates,
    config: SelectionConfig,
    contents: Sequence[frozenset[str]] | None = None,
) -> list[Choice]:
    """In order of choice; of sentences with the same content words only one is taken.

    `contents` are what each sentence tells, if that is not its content words.
    """
    # "a dog and a cat" says what "the cat and the dog" says.
    if contents is None:
        contents = [frozenset(list_content_words(each)) for each in candidates.sentences]
    units = normalise(candidates.meanings)
    quality, own = candidates.quality, config.specificity * candidates.affinities
    lengths = np.array([max(len(content) - PLAIN, 0) for content in contents])
    worth = quality + config.detail * candidates.confidence * lengths
    is_sure = (candidates.confidence >= config.sure) & (lengths >= config.telling)
    if not is_sure.any():
        # One that tells little, or else the surest, which is called a guess, is better than none.
        is_plain = np.array([len(content) >= PLAIN for content in contents], bool)
        last = is_plain & (candidates.confidence >= config.sure)
        if not last.any():
            last = candidates.confidence == candidates.confidence.max(initial=-np.inf)
        is_sure = last & (quality == quality[last].max(initial=-np.inf))
    sameness = np.zeros(len(candidates))
    named = np.zeros(candidates.things.shape[1])
    used = np.zeros(own.shape[1])
    # The first is one of the best by themselves.
    is_open = is_sure & (quality == quality[is_sure].max(initial=-np.inf))
    chosen: list[Choice] = []
    while len(chosen) < config.k and is_open.any():
        new = np.maximum(candidates.things - named, 0).sum(axis=1)
        gain = worth + config.coverage * new - config.diversity * sameness / max(1, len(chosen))
        ties = own - config.reuse * used
        gains = np.where(is_open[:, None], gain[:, None] + ties, -np.inf)
        best = Choice(*map(int, np.unravel_index(gains.argmax(), gains.shape)))
        chosen.append(best)
        used[best.sequence] += 1
        sameness += units @ units[best.candidate]
        named = np.maximum(named, candidates.things[best.candidate])
        said = [contents[choice.candidate] for choice in chosen]
        is_open = is_sure & [_is_new(each, said, config.news) for each in contents]
    return chosen


def _is_new(content: frozenset[str], said: Sequence[frozenset[str]], news: int) -> bool:
    return content not in said and all(len(content - known) >= news for known in said)


def normalise(vectors: FloatArray | Float64Array) -> Float64Array:
    """Vectors (…, D) of length 1; those of nothing stay so."""
    wide = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    return np.asarray(wide / np.maximum(lengths, np.finfo(np.float64).tiny))
