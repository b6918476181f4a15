"""The sentences of a clip to choose from, with all that the choice needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from densevidcap.data.lexicon import FUNCTION_WORDS
from densevidcap.language.affinity import find_affinities
from densevidcap.language.describer import Candidate, Describer
from densevidcap.language.views import ClipView
from densevidcap.records import FloatArray
from densevidcap.regions.objectives import Float64Array
from densevidcap.rerank.evaluator import Evaluator

DANGLING = FUNCTION_WORDS | {"a", "an", "the", "of", "about", "for", "from", "by", "into"}
"""A sentence that ends in one of these breaks off: "a man is talking about"."""


@dataclass(frozen=True)
class Shortlist:
    """S different sentences of a clip with K region-sequences, the best first."""

    sentences: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    """(S,): how they were found."""
    quality: FloatArray
    """(S,), 0 to 1: how well each agrees with all that was found."""
    fit: FloatArray
    """(S,), -1 to 1: the evaluator's score, 0 without one."""
    meanings: FloatArray
    """(S, D): places in the latent space."""
    likelihoods: FloatArray
    """(S, K): log P(sentence | sequence)."""
    affinities: FloatArray
    """(S, K): how much more of a sentence a sequence has than the others."""


def make_shortlist(
    found: Sequence[Candidate],
    view: ClipView,
    describer: Describer,
    evaluator: Evaluator | None,
    words: Sequence[str],
    most: int,
) -> Shortlist:
    """Of at most so many. `words` are those of the lexicon, the most frequent first."""
    kept, agreement = keep_best(found, describer, most)
    sentences = tuple(describer.say(candidate.words) for candidate in kept)
    likelihoods = describer.compare(view, [candidate.words for candidate in kept])
    fit = np.zeros(len(kept), np.float32)
    if evaluator is not None:
        fit = evaluator.score(view, sentences)
    return Shortlist(
        sentences,
        tuple(kept),
        agreement.astype(np.float32),
        fit,
        describer.place(kept).astype(np.float32),
        likelihoods,
        find_affinities(sentences, likelihoods, view.sequence_words, words),
    )


def keep_best(
    found: Sequence[Candidate], describer: Describer, most: int
) -> tuple[list[Candidate], Float64Array]:
    """The different sentences that agree best with all, and how well each does (S,).

    Those that break off are kept only if there are no others.
    """
    agreement = describer.rate(found)
    best: dict[tuple[int, ...], int] = {}
    for place in np.argsort(-agreement, kind="stable").tolist():
        best.setdefault(found[place].words, place)
    whole = [place for words, place in best.items() if not _breaks_off(describer.say(words))]
    kept = (whole or list(best.values()))[:most]
    return [found[place] for place in kept], agreement[kept]


def _breaks_off(sentence: str) -> bool:
    return sentence.rpartition(" ")[2] in DANGLING
