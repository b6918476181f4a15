"""Sound in bands and coefficients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.data.spectrum import (
    BANDS,
    COEFFICIENTS,
    FLOOR,
    STEP,
    measure_bands,
    measure_cepstrum,
    measure_change,
    to_hertz,
    to_mel,
)
from densevidcap.types import FloatArray

RATE = 22_050


def play(hertz: float, seconds: float = 0.5, loudness: float = 0.5) -> FloatArray:
    times = np.arange(round(seconds * RATE)) / RATE
    return (loudness * np.sin(2 * np.pi * hertz * times)).astype(np.float32)


def find_centres() -> FloatArray:
    return to_hertz(np.linspace(to_mel(30), to_mel(RATE / 2), BANDS + 2))[1:-1]


@pytest.mark.parametrize("hertz", [220, 440, 1000, 3000, 8000])
def test_a_tone_is_loudest_in_its_band(hertz: float) -> None:
    bands = measure_bands(play(hertz), RATE)[5:-5]
    nearest = int(np.abs(to_mel(find_centres()) - to_mel(hertz)).argmin())
    assert (np.abs(bands.argmax(axis=1) - nearest) <= 1).all()


@given(st.floats(0.05, 0.9))
def test_louder_is_the_same_amount_more_in_all_bands(loudness: float) -> None:
    noise = np.random.default_rng(0).uniform(-1, 1, 4000).astype(np.float32)
    gain = measure_bands(loudness * noise, RATE) - measure_bands(noise, RATE)
    np.testing.assert_allclose(gain, 2 * np.log(loudness), atol=1e-3)


def test_silence_is_the_floor_and_a_full_tone_near_zero() -> None:
    np.testing.assert_allclose(measure_bands(np.zeros(3000, np.float32), RATE), np.log(FLOOR))
    assert abs(float(measure_bands(play(1000, loudness=1.0), RATE).max())) < 1


def test_there_is_a_look_for_each_step_however_long_it_is() -> None:
    for seconds in (0.01, 1.0, 33.3):
        looks = measure_bands(play(440, seconds), RATE)
        assert abs(len(looks) - seconds / STEP) <= 1.5 + 0.01 * seconds / STEP


def test_long_sound_is_measured_like_its_parts() -> None:
    """Pieces are put together without a seam."""
    noise = np.random.default_rng(0).uniform(-1, 1, 30 * RATE).astype(np.float32)
    step = round(STEP * RATE)
    whole, later = measure_bands(noise, RATE), measure_bands(noise[1000 * step :], RATE)
    np.testing.assert_allclose(whole[1005:], later[5 : len(whole) - 1000], rtol=1e-4, atol=1e-4)


@given(st.floats(-3, 3), st.floats(-3, 3))
def test_the_change_of_a_line_is_its_slope(slope: float, start: float) -> None:
    line = (start + slope * np.arange(20, dtype=np.float32))[:, None]
    np.testing.assert_allclose(measure_change(line)[2:-2], slope, atol=1e-4)
    np.testing.assert_allclose(measure_change(np.full_like(line, start)), 0, atol=1e-6)


def test_coefficients_keep_the_shape_of_the_spectrum() -> None:
    """Loudness is the first alone; all others tell how it is spread, and not how loud it is."""
    noise = np.random.default_rng(0).uniform(-1, 1, 8000).astype(np.float32)
    loud, soft = measure_cepstrum(noise, RATE), measure_cepstrum(0.3 * noise, RATE)
    assert loud.shape[1] == 3 * COEFFICIENTS
    np.testing.assert_allclose(loud[:, 1:], soft[:, 1:], atol=1e-2)
    lowered = 2 * np.log(0.3) * np.sqrt(BANDS)
    np.testing.assert_allclose(soft[:, 0] - loud[:, 0], lowered, atol=1e-2)
