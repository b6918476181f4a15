"""How good, how different and how dense captions are, by the paper's Section 4."""

from __future__ import annotations

from densevidcap.metrics.bootstrap import Interval, bootstrap_difference, bootstrap_mean
from densevidcap.metrics.captions import (
    METRICS,
    CaptionScorer,
    CaptionScores,
    describe_evaluator,
    score_captions,
    score_many,
)

__all__ = [
    "METRICS",
    "CaptionScorer",
    "CaptionScores",
    "Interval",
    "bootstrap_difference",
    "bootstrap_mean",
    "describe_evaluator",
    "score_captions",
    "score_many",
]
