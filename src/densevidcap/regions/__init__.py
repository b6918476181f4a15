"""From every region's words and features to region-sequences, and from sentences to these."""

from densevidcap.regions.association import Association, associate
from densevidcap.regions.objectives import EQUAL_WEIGHTS, STEADY_WEIGHTS, Objective, Weights
from densevidcap.regions.search import SequenceOptions, generate_sequences, pool_words, trim
from densevidcap.regions.weights import CaptionedClip, WeightStep, learn_weights

__all__ = [
    "EQUAL_WEIGHTS",
    "STEADY_WEIGHTS",
    "Association",
    "CaptionedClip",
    "Objective",
    "SequenceOptions",
    "WeightStep",
    "Weights",
    "associate",
    "generate_sequences",
    "learn_weights",
    "pool_words",
    "trim",
]
