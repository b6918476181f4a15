"""The surface of things, and how it gets onto the frames."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densevidcap.records import UInt8Array
from densevidcap.testworld.layout import REACH, Floats
from densevidcap.testworld.shapes import distance

Bounds = npt.NDArray[np.int_]

HUES = {"red": 0, "orange": 28, "yellow": 54, "green": 125, "blue": 218, "purple": 280}
"""Degrees on the colour wheel."""


@dataclass(frozen=True)
class Paint:
    """How a thing's surface looks."""

    first: Floats
    """(3,) RGB in [0, 1]: the colour that its sentences name."""
    second: Floats
    """(3,) RGB of its texture: nearly white, or a dark shade of the first."""
    period: float
    """Of its texture, in radii."""


def mix_paint(rng: np.random.Generator, colour: str) -> Paint:
    """A shade of the colour, and a lighter or darker one that stands out from it."""
    hue = (HUES[colour] + rng.uniform(-6, 6)) % 360 / 360
    saturation, value = rng.uniform(0.75, 0.95), rng.uniform(0.8, 1.0)
    contrast = (0.08, 0.95) if rng.random() < 0.5 else (0.9, 0.3)
    return Paint(
        first=np.array(colorsys.hsv_to_rgb(hue, saturation, value)),
        second=np.array(colorsys.hsv_to_rgb(hue, *contrast)),
        period=rng.uniform(0.5, 0.62),
    )


def draw_thing(
    canvas: UInt8Array,
    paint: Paint,
    *,
    kind: str,
    texture: str,
    centres: Floats,
    angles: Floats,
    radius: float,
    brightness: float,
) -> Bounds:
    """Draw a thing onto the (T, H, W, 3) canvas, in place, and return where it is.

    Its (T, 2) centres x, y and its radius are in pixels, its (T,) angles in radians. The (T, 4)
    bounds are the left, top, right and bottom edge of the pixels that it covers.
    """
    _, height, width, _ = canvas.shape
    side = int(2 * REACH * radius) + 4
    corners = np.floor(centres - side / 2).astype(int).clip(0, (width - side, height - side))
    steps = np.arange(side) + 0.5
    right = (corners[:, :1] + steps - centres[:, :1])[:, None, :] / radius
    down = (corners[:, 1:] + steps - centres[:, 1:])[:, :, None] / radius
    cos, sin = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
    x, y = right * cos + down * sin, down * cos - right * sin

    depth = -distance(kind, x, y)
    cover = np.clip(0.5 + depth * radius, 0, 1)
    rim = np.clip(1.5 + (0.08 - depth) * radius, 0, 1)
    light = brightness * (1 - 0.12 * (right + down)) * (1 - 0.45 * rim)
    share = pattern(texture, x, y, paint.period)[..., None]
    surface = (paint.first + share * (paint.second - paint.first)) * light[..., None]

    bounds = np.empty((len(canvas), 4), dtype=int)
    for t, (left, top) in enumerate(corners):
        patch = canvas[t, top : top + side, left : left + side]
        patch[:] = to_bytes(patch / 255 + cover[t, ..., None] * (surface[t] - patch / 255))
        columns, rows = cover[t].any(axis=0).nonzero()[0], cover[t].any(axis=1).nonzero()[0]
        bounds[t] = left + columns[0], top + rows[0], left + columns[-1] + 1, top + rows[-1] + 1
    return bounds


def pattern(texture: str, x: Floats, y: Floats, period: float) -> Floats:
    """Share of the second colour in [0, 1], its edges a little soft."""
    wave_x, wave_y = np.sin(2 * np.pi * x / period), np.sin(2 * np.pi * y / period)
    strength = {
        "plain": np.full_like(x, -1.0),
        "striped": wave_x,
        "dotted": wave_x + wave_y - 0.55,
        "checked": 2 * wave_x * wave_y,
    }[texture]
    return np.clip(0.5 + 2.5 * strength, 0, 1)


def to_bytes(colours: Floats) -> UInt8Array:
    """Colours in [0, 1], cut off beyond, as bytes."""
    return np.rint(255 * np.clip(colours, 0, 1)).astype(np.uint8)
