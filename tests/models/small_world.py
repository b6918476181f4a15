"""A corpus of the test world so small that a Lexical-FCN reads and learns it in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from densevidcap.config import EyesConfig, WordsConfig
from densevidcap.data.lexicon import Lexicon, build_lexicon
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.examples import World, write_world
from densevidcap.examples.words import COLOUR_WORDS, KIND_WORDS
from densevidcap.models.backbones.weights import load_imagenet
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.train.feature_cache import FeatureCache, cache_features

ENCODER = EyesConfig("lite0", size=96, window=2, stride=1)
SAMPLING = Sampling(frames=3)
NOUNS = {word for words in KIND_WORDS.values() for word in words}
ADJECTIVES = {word for words in COLOUR_WORDS.values() for word in words}
TAGS = {"a": "DET", "dog": "NOUN", "running": "VERB", "of": "ADP", "t-shirt": "NOUN"}
"""The words of the smallest model, with their parts of speech."""


def write_corpus(folder: Path, clips: int = 20) -> Path:
    """The manifest of that many clips; four of five are for training."""
    return write_world(folder, range(clips), World(size=96, frames=4))


def make_lexicon(records: Sequence[ClipRecord]) -> Lexicon:
    def tag(word: str) -> str:
        return "NOUN" if word in NOUNS else "ADJ" if word in ADJECTIVES else "X"

    captions = {record.id: record.captions for record in records}
    return build_lexicon(captions, lambda sentences: [[tag(w) for w in s] for s in sentences])


def make_model(lexicon: Lexicon, head: WordsConfig | None = None) -> LexicalFCN:
    """With ImageNet's weights below and random words above, the same ones every time."""
    torch.manual_seed(0)
    model = LexicalFCN(lexicon, ENCODER, head or WordsConfig(hidden=32))
    load_imagenet(model.encoder.backbone)
    return model.eval()


def read_corpus(manifest: Path) -> tuple[list[ClipRecord], LexicalFCN, FeatureCache]:
    """Its clips, a model with their words, and what its encoder sees in them."""
    records = list(read_manifest(manifest))
    model = make_model(make_lexicon(records))
    cache, failures = cache_features(records, model.encoder, manifest.parent, SAMPLING)
    assert not failures
    return records, model, cache
