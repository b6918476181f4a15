"""How sure we are of a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from densevidcap.language.views import ClipView
from densevidcap.records import FloatArray
from densevidcap.regions.objectives import Float64Array
from densevidcap.rerank.evaluator import Evaluator


def rate(
    evaluator: Evaluator | None,
    view: ClipView,
    sentences: Sequence[str],
    agreement: Float64Array,
) -> FloatArray:
    """(S,), 0 to 1: by the evaluator, or else by how well each agrees with all that was found."""
    if evaluator is None:
        return np.clip(agreement, 0, 1).astype(np.float32)
    return evaluator.confidence(evaluator.score(view, sentences))
