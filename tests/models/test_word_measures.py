"""Measures of word detection against their definitions, written out."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.metrics.detection import BoolArray, average_precision, detect, region_similarity
from densevidcap.types import FloatArray


@st.composite
def answers(draw: st.DrawFn) -> tuple[FloatArray, BoolArray]:
    """Scores with ties and labels, (B, W)."""
    shape = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scores = np.linspace(0, 1, 6, dtype=np.float32)[rng.integers(0, 6, shape)]
    return scores, rng.random(shape) < 0.4


@given(answers())
def test_average_precision_is_precision_at_each_hit(answer: tuple[FloatArray, BoolArray]) -> None:
    scores, labels = answer
    for word, found in enumerate(average_precision(scores, labels)):
        ranked = sorted(range(len(scores)), key=lambda clip: (-scores[clip, word], clip))
        hits = [bool(labels[clip, word]) for clip in ranked]
        precisions = [sum(hits[: n + 1]) / (n + 1) for n, hit in enumerate(hits) if hit]
        if precisions:
            np.testing.assert_allclose(found, np.mean(precisions))
        else:
            assert np.isnan(found)


@given(answers())
def test_detection_counts_words_over_the_threshold(answer: tuple[FloatArray, BoolArray]) -> None:
    scores, labels = answer
    pairs = [(score > 0.5, label) for score, label in zip(scores.flat, labels.flat, strict=True)]
    right = sum(1 for found, label in pairs if found and label)
    detection = detect(scores, labels)
    assert detection.precision == right / max(1, sum(found for found, _ in pairs))
    assert detection.recall == right / max(1, sum(label for _, label in pairs))
    assert 0 <= detection.f1 <= 1


def test_top_k_takes_as_many_words_as_a_clip_has() -> None:
    scores = np.array([[0.9, 0.8, 0.1], [0.2, 0.4, 0.3], [0.5, 0.5, 0.5]], dtype=np.float32)
    labels = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0]], dtype=bool)
    assert detect(scores, labels).top_k == (1 / 2 + 1) / 2


def test_equal_regions_are_alike_and_unrelated_ones_are_not() -> None:
    rng = np.random.default_rng(0)
    frames = rng.normal(size=(20, 1, 256)).astype(np.float32)
    np.testing.assert_allclose(region_similarity(np.repeat(frames, 16, axis=1)), 1, atol=1e-3)
    apart = region_similarity(rng.normal(size=(20, 16, 256)).astype(np.float32))
    assert max(map(abs, apart)) < 0.05
