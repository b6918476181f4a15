"""Which of the sentences that were found are kept to choose from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from densevidcap.data.lexicon import FUNCTION_WORDS
from densevidcap.language.describer import Candidate, Describer
from densevidcap.regions.objectives import Float64Array

DANGLING = FUNCTION_WORDS | {"a", "an", "the", "of", "about", "for", "from", "by", "into"}
"""A sentence that ends in one of these breaks off: "a man is talking about"."""


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
