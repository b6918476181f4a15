"""Backgrounds of the test world: muted, so that strong colours belong to things."""

from __future__ import annotations

import colorsys

import numpy as np

from densevidcap.records import UInt8Array
from densevidcap.testworld.layout import Floats
from densevidcap.testworld.painting import to_bytes

VALUES = {"dark": 0.25, "grey": 0.5, "pale": 0.8}
"""Brightness of the shades."""


def draw_place(
    rng: np.random.Generator, *, place: str, shade: str, size: int, brightness: float
) -> UInt8Array:
    """(H, W, 3): one muted colour, with the place's relief and light that falls off across it."""
    base = np.array(colorsys.hsv_to_rgb(rng.random(), rng.uniform(0, 0.15), VALUES[shade]))
    slope_x, slope_y = rng.uniform(-0.25, 0.25, 2)
    x = (np.arange(size) + 0.5) / size
    y = x[:, None]
    light = 1 + slope_x * (x - 0.5) + slope_y * (y - 0.5) + 0.14 * _relief(rng, place, x, y)
    return to_bytes(brightness * base * light[..., None])


def _relief(rng: np.random.Generator, place: str, x: Floats, y: Floats) -> Floats:
    """How much lighter or darker than its colour the place is at (W,) x and (H, 1) y in [0, 1]."""
    shift, pitch = rng.random(), rng.uniform(0.09, 0.16)
    columns, rows = x / pitch + shift, y / pitch + shift
    seam_x, seam_y = columns % 1 < 0.07, rows % 1 < 0.07
    match place:
        case "wall":
            relief = 0.25 * _noise(rng, 6, 6, x.size)
        case "carpet":
            relief = 0.5 * _noise(rng, 60, 60, x.size) + 0.4 * _noise(rng, 6, 6, x.size)
        case "boards":
            tones = rng.normal(size=16)[columns.astype(int)]
            relief = 0.4 * tones - 1.2 * seam_x + 0.2 * _noise(rng, 6, 60, x.size)
        case "tiles":
            tones = rng.normal(size=(16, 16))[rows.astype(int), columns.astype(int)]
            relief = 0.4 * tones - 1.2 * (seam_x | seam_y)
        case _:
            raise ValueError(f"no place is called {place}")
    return np.asarray(relief)


def _noise(rng: np.random.Generator, rows: int, columns: int, size: int) -> Floats:
    """(size, size): random values at rows x columns knots, joined by straight lines."""
    knots = rng.normal(size=(rows, columns))
    return np.asarray(_hats(size, rows) @ knots @ _hats(size, columns).T)


def _hats(size: int, knots: int) -> Floats:
    """(size, knots): the weight of each knot at each pixel."""
    at = np.linspace(0, knots - 1, size)[:, None]
    return np.clip(1 - abs(at - np.arange(knots)), 0, None)
