"""Figures about region-sequences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.regions import literal
from tests.regions.clips import make_clip

from densevidcap.config import RegionsConfig
from densevidcap.metrics.region_metrics import measure_following, measure_quality
from densevidcap.regions import generate_sequences
from densevidcap.types import Box, RegionSequence


@given(st.integers(0, 2**32 - 1))
def test_quality_equals_the_transcription(seed: int) -> None:
    clip = make_clip(seed)
    sequences = generate_sequences(clip, RegionsConfig(k=2))
    one, other = ([*enumerate(sequence.regions)] for sequence in sequences)
    attainable = clip.probabilities.max(axis=(0, 1)).sum()
    quality = measure_quality(sequences, clip)
    assert quality.informative == pytest.approx(
        (literal.f_inf(clip, one) + literal.f_inf(clip, other)) / 2 / attainable, rel=1e-5
    )
    assert quality.coherent == pytest.approx(
        (literal.f_coh(clip, one) + literal.f_coh(clip, other)) / 2 / 6, rel=1e-5
    )
    divergences = literal.f_div(clip, one, [other]) + literal.f_div(clip, other, [one])
    assert quality.kl == pytest.approx(divergences / 2, abs=1e-6)
    assert quality.nearest == pytest.approx(quality.kl)
    assert quality.overlap == np.mean([a == b for a, b in zip(one, other, strict=True)])
    # Windows of one cell, one cell apart, share all or nothing.
    assert quality.iou == quality.overlap


def test_the_nearest_of_others_is_the_least_different() -> None:
    clip = make_clip(0)
    one, other = generate_sequences(clip, RegionsConfig(k=2))
    apart = measure_quality([one, other], clip)
    repeated = measure_quality([one, other, one, other], clip)
    assert 0 == repeated.nearest < apart.nearest
    assert repeated.kl == pytest.approx(apart.kl * 2 / 3)
    assert repeated.distinct == 2


def test_equal_sequences_overlap_wholly() -> None:
    clip = make_clip(0)
    sequence = generate_sequences(clip, RegionsConfig(k=1))[0]
    quality = measure_quality([sequence] * 3, clip)
    assert (quality.overlap, quality.iou, quality.kl, quality.distinct) == (1, 1, 0, 1)


def test_following_is_the_share_of_frames_that_hold_the_centre() -> None:
    grid = make_clip(0, rows=2, columns=2).grid
    sequence = RegionSequence(grid, (0, 1), (0.5, 1.0))
    left, right = Box(0.1, 0.1, 0.3, 0.3), Box(0.7, 0.1, 0.9, 0.3)
    assert measure_following(sequence, [left, right]) == 1
    assert measure_following(sequence, [left, left]) == 0.5
    assert measure_following(sequence, [right, left]) == 0


def test_frames_without_features_have_no_coherence() -> None:
    clip = make_clip(0)
    clip.features[:] = 0
    sequences = generate_sequences(clip, RegionsConfig(k=2))
    assert measure_quality(sequences, clip).coherent == 0
