"""Sound as pictures and numbers: spectrogram, mel bands, and cepstral coefficients (MFCC)."""

from __future__ import annotations

from functools import cache

import numpy as np

from densevidcap.types import FloatArray

WINDOW, STEP = 0.025, 0.010
"""Seconds that are looked at together, and from one look to the next."""
BANDS = 40
COEFFICIENTS = 13
FLOOR = 1e-8
"""Power below which there is silence: 80 dB under full scale."""
LOWEST = 30.0
"""Hz at which the bands begin; they end at half the rate."""
REACH = 2
"""Steps before and after that a change over time is fitted to."""
_PIECE = 2_000
"""Looks at once: a film has hundreds of thousands."""


def measure_bands(sound: FloatArray, rate: int) -> FloatArray:
    """(looks, BANDS): log power of (samples,) in mel bands, one row for each STEP.

    The first look is around the first sample; what lies outside of the sound is silent.
    """
    window, step = round(WINDOW * rate), round(STEP * rate)
    size = 1 << (window - 1).bit_length()
    padded = np.pad(np.asarray(sound, np.float32), (window // 2, window))
    starts = np.arange(0, max(1, len(sound)), step)
    shape = np.hanning(window + 1)[:-1].astype(np.float32)
    # So that a tone of full scale has a power near one, whatever the window's length.
    shape /= shape.sum() / 2
    filters = _make_filters(rate, size)
    found = []
    for begin in range(0, len(starts), _PIECE):
        places = starts[begin : begin + _PIECE, None] + np.arange(window)
        power = np.abs(np.fft.rfft(padded[places] * shape, size)) ** 2
        found.append(np.log(np.maximum(power.astype(np.float32) @ filters, FLOOR)))
    return np.concatenate(found)


def measure_cepstrum(sound: FloatArray, rate: int) -> FloatArray:
    """(looks, 3 x COEFFICIENTS): MFCC, how they change, and how that does."""
    static = measure_bands(sound, rate) @ _make_cosines(BANDS, COEFFICIENTS)
    change = measure_change(static)
    return np.concatenate([static, change, measure_change(change)], axis=1)


def measure_change(values: FloatArray) -> FloatArray:
    """The slope (looks, D) of the line through REACH looks before and after each.

    At the ends, the first and last go on.
    """
    padded = np.pad(values, ((REACH, REACH), (0, 0)), mode="edge")
    count = len(values)
    slopes = np.zeros_like(values)
    for away in range(1, REACH + 1):
        later = padded[REACH + away : REACH + away + count]
        slopes += away * (later - padded[REACH - away : REACH - away + count])
    squares = 2 * sum(away**2 for away in range(1, REACH + 1))
    return np.asarray(slopes / squares, np.float32)


def to_mel(hertz: FloatArray | float) -> FloatArray:
    return np.asarray(2595 * np.log10(1 + np.asarray(hertz) / 700), np.float32)


def to_hertz(mel: FloatArray | float) -> FloatArray:
    return np.asarray(700 * (10 ** (np.asarray(mel, np.float64) / 2595) - 1), np.float32)


@cache
def _make_filters(rate: int, size: int) -> FloatArray:
    """(size / 2 + 1, BANDS): triangles that overlap by half, equally wide in mel."""
    edges = to_hertz(np.linspace(to_mel(LOWEST), to_mel(rate / 2), BANDS + 2))
    lines = np.fft.rfftfreq(size, 1 / rate)[:, None]
    low, centre, high = edges[:-2], edges[1:-1], edges[2:]
    rising, falling = (lines - low) / (centre - low), (high - lines) / (high - centre)
    return np.asarray(np.maximum(0, np.minimum(rising, falling)), np.float32)


@cache
def _make_cosines(bands: int, coefficients: int) -> FloatArray:
    """(bands, coefficients): the orthonormal cosine transform."""
    places, orders = np.arange(bands)[:, None] + 0.5, np.arange(coefficients)
    cosines = np.cos(np.pi * places * orders / bands) * np.sqrt(2 / bands)
    cosines[:, 0] /= np.sqrt(2)
    return np.asarray(cosines, np.float32)
