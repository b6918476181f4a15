"""From every region's words and features to region-sequences, and from sentences to these."""

from densevidcap.regions.association import associate, match
from densevidcap.regions.objectives import Objective
from densevidcap.regions.search import (
    check_regions,
    count_sequences,
    generate_sequences,
    pool_words,
)
from densevidcap.regions.weights import CaptionedClip, WeightStep, learn_terms, learn_weights

__all__ = [
    "CaptionedClip",
    "Objective",
    "WeightStep",
    "associate",
    "check_regions",
    "count_sequences",
    "generate_sequences",
    "learn_terms",
    "learn_weights",
    "match",
    "pool_words",
]
