"""Clips with random numbers and sentences that tell what they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from tests.models.small_views import FEATURES, REGIONS, WORDS, make_view

from densevidcap.config import EvaluatorConfig
from densevidcap.data.text import Vocabulary
from densevidcap.models.evaluator_network import EvaluatorNetwork, NetworkEvaluator, gather
from densevidcap.models.views import ClipView
from densevidcap.train.evaluator import Example

THINGS = ("dog", "cat", "horse", "car", "ball", "tree", "boat")
"""Each is one of the words (W) whose probabilities a view has."""
SENTENCES = ("a {} and a {} are there", "the {} is next to a {}", "a {} with a {}")


def show(first: int, second: int, seed: int = 0) -> ClipView:
    """A clip of two of the things."""
    view = make_view(frames=1 + seed % 3, seed=seed)
    words = view.clip_words * 0.1
    words[[first, second]] = 0.9
    return replace(view, clip_words=words)


def make_examples(count: int, seed: int = 0) -> list[Example]:
    """Clips of two things each, by turns of two categories."""
    random = np.random.default_rng(seed)
    examples = []
    for number in range(count):
        first, second = (int(thing) for thing in random.choice(WORDS, 2, replace=False))
        captions = [text.format(THINGS[first], THINGS[second]) for text in SENTENCES]
        examples.append(
            Example(
                clip=f"clip{number}",
                features=gather(show(first, second, seed * 1000 + number)),
                captions=captions,
                sequences=random.integers(REGIONS, size=len(captions)),
                category=("indoors", "outdoors")[number % 2],
                weaker=(captions[0], f"a {THINGS[first]}", "a boat"),
            )
        )
    return examples


def make_network(examples: Sequence[Example] = (), seed: int = 0) -> EvaluatorNetwork:
    """In evaluation mode."""
    told = examples or make_examples(20)
    vocabulary = Vocabulary.build(text for example in told for text in example.captions)
    torch.manual_seed(seed)
    config = EvaluatorConfig(width=16, hidden=32, embedding=16, dropout=0.2)
    return EvaluatorNetwork(vocabulary, FEATURES, WORDS, config).eval()


def make_evaluator(seed: int = 0) -> NetworkEvaluator:
    return NetworkEvaluator(make_network(seed=seed))
