"""Orders of a clip's sentences that look at no reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from densevidcap.experiments.candidates import Found

VALUES = {
    "confidence": "confidence",
    "consensus": "quality",
    "likelihood": "likelihood",
    "evaluator": "fit",
}
"""Order to what it goes by, the higher the better."""
ORDERS = ("choice", "random", *VALUES)


def rank(found: Found, said: Sequence[int], order: str, seed: int) -> list[str]:
    """The sentences at the places that were chosen, the best first."""
    places = list(said)
    if order == "random":
        np.random.default_rng(seed).shuffle(places)
    elif order != "choice":
        values = getattr(found, VALUES[order])
        places.sort(key=lambda place: -values[place])
    return [found.sentences[place] for place in places]
