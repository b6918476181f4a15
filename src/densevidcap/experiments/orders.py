"""Orders of a clip's sentences that look at no reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from densevidcap.errors import ModelError
from densevidcap.experiments.candidates import Found

VALUES = {
    "confidence": "confidence",
    "consensus": "quality",
    "likelihood": "likelihood",
    "evaluator": "evaluation",
}
"""Order to what it goes by."""
ORDERS = ("choice", "random", *VALUES)


def rank(found: Found, said: Sequence[int], order: str, seed: int) -> list[str]:
    """The sentences at the places that were chosen, the best first."""
    if order == "choice":
        places = list(said)
    elif order == "random":
        places = np.random.default_rng(seed).permutation(said).tolist()
    elif values := getattr(found, VALUES[order]):
        places = sorted(said, key=lambda place: -values[place])
    else:
        raise ModelError(f"the model cannot rank by {order}: it has no such stage")
    return [found.sentences[place] for place in places]
