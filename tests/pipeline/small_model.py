"""A whole model of a few units with random weights, and analyses with random numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from tests.models.small_world import make_model

from densevidcap.config import CaptionerConfig, EvaluatorConfig, ModelConfig
from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.data.lsa import LatentSpace
from densevidcap.data.phrases import Phrases
from densevidcap.data.text import Vocabulary
from densevidcap.model_folder import MEANING, PHRASES, read_model_config, write_model_card
from densevidcap.models.captioner import CaptionModel, StreamWidths
from densevidcap.models.evaluator_network import EvaluatorNetwork, NetworkEvaluator
from densevidcap.pipeline.analysis import Analysis, CloseUp, Segment
from densevidcap.pipeline.traits import TRAITS
from densevidcap.types import Candidates, Grid

TAGS = {"dog": "NOUN", "cat": "NOUN", "man": "NOUN", "running": "VERB", "guitar": "NOUN"}
"""The lexicon."""
SENTENCES = (
    "a dog is running on grass",
    "two cats are sleeping",
    "a man is playing a guitar",
    "a dog is sleeping",
    "a woman is talking to a man",
)
GRID = Grid(4, 4, 2, 1)


PLAIN = {
    "decoding.mentions": 0,
    "selection.diversity": 0.4,
    "selection.reuse": 1e3,
    "selection.detail": 0.0,
    "selection.telling": 0,
    "selection.coverage": 0.0,
    "selection.sure": 0.0,
    "wording.case": "raw",
    "wording.looks": True,
    "wording.gender": "said",
    "wording.topics": "said",
    "wording.english": "said",
    "selection.news": 0,
    "confidence.evidence": 0.1,
}
"""Weights at random are sure of nothing: all that they say is said, as it is."""


def write_model(folder: Path, evaluator: bool = True) -> Path:
    torch.manual_seed(0)
    entries = (LexiconEntry(word, 99 - n, 1, pos) for n, (word, pos) in enumerate(TAGS.items()))
    words = make_model(Lexicon(entries))
    words.save(folder / "words", {"licence": "Apache-2.0"})
    channels, vocabulary = words.encoder.channels, Vocabulary.build(SENTENCES)
    captioner = CaptionModel(
        vocabulary,
        CaptionerConfig(kind="mean-pooling", hidden=16, embedding=8),
        StreamWidths({"centred": channels, "frames": channels}, {"clip_words": len(TAGS)}),
    )
    sentences = folder / "sentences"
    sentences.mkdir()
    LatentSpace.fit(SENTENCES).save(sentences / MEANING)
    Phrases.count([SENTENCES]).save(sentences / PHRASES)
    history = [{"epoch": 1, "val_loss": 2.5}]
    captioner.save(sentences, {"history": history, "data": {"clips": 7}})
    if evaluator:
        sizes = EvaluatorConfig(width=8, hidden=8, embedding=8)
        network = EvaluatorNetwork(vocabulary, channels, len(TAGS), sizes)
        NetworkEvaluator(network).save(folder / "evaluator", {})
    write_model_card(folder, read_model_config(folder).override(PLAIN))
    return folder


def make_segment(
    seed: int = 0,
    frames: int = 4,
    sequences: int = 3,
    start: float = 0.0,
    sentences: int = 5,
    close: bool = False,
) -> Segment:
    """A second a frame, of ten in the source; with a close-up where boxes are to be fitted."""
    random = np.random.default_rng(seed)
    said = tuple(SENTENCES[:sentences])
    return Segment(
        start=start,
        end=start + frames,
        grid=GRID,
        times=np.arange(frames, dtype=np.float64) + start + 0.5,
        words=tuple(TAGS),
        probabilities=random.random((frames, len(GRID), len(TAGS))).astype(np.float16),
        paths=random.integers(len(GRID), size=(sequences, frames)),
        candidates=make_candidates(said, sequences, random),
        close_up=make_close_up(frames, random) if close else None,
        source_frames=10 * np.arange(frames) + int(10 * start) + 5,
    )


def make_close_up(frames: int, random: np.random.Generator) -> CloseUp:
    grid = Grid(GRID.map_rows, GRID.map_columns, 1, 1)
    return CloseUp(
        grid,
        tuple(TAGS),
        random.random((frames, len(grid), len(TAGS))).astype(np.float16),
        random.normal(size=(frames, grid.map_rows, grid.map_columns, 3)).astype(np.float16),
    )


def make_candidates(
    said: tuple[str, ...], sequences: int, random: np.random.Generator
) -> Candidates:
    return Candidates(
        sentences=said,
        likelihoods=random.uniform(-20, -5, (len(said), sequences)).astype(np.float32),
        affinities=random.normal(size=(len(said), sequences)).astype(np.float32),
        quality=random.random(len(said), np.float32),
        fit=random.uniform(-1, 1, len(said)).astype(np.float32),
        confidence=random.random(len(said), np.float32),
        meanings=random.normal(size=(len(said), 3)).astype(np.float32),
        traits=random.normal(size=(len(said), len(TRAITS))).astype(np.float32),
        things=random.random((len(said), 2), np.float32),
        scores=random.uniform(-5, -1, len(said)).astype(np.float32),
    )


def make_analysis(*segments: Segment) -> Analysis:
    return Analysis(
        source="talk.mp4",
        duration=segments[-1].end,
        width=64,
        height=48,
        model="small",
        model_version="1",
        config=ModelConfig().override(PLAIN),
        segments=segments,
    )
