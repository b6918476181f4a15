"""Pixels of the test world: shapes as distance functions, textures, backgrounds."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densevidcap.records import UInt8Array
from densevidcap.testworld.layout import REACH, Floats

Bounds = npt.NDArray[np.int_]

HUES = {"red": 0, "orange": 28, "yellow": 54, "green": 125, "blue": 218, "purple": 280}
"""Degrees on the colour wheel."""

VALUES = {"dark": 0.25, "grey": 0.5, "pale": 0.8}
"""Brightness of the background's shades."""


def distance(kind: str, x: Floats, y: Floats) -> Floats:
    """About the signed distance to a shape's edge, negative inside; the shape's radius is 1."""
    from_centre = np.hypot(x, y)
    if kind == "ball":
        edge = from_centre - 1
    elif kind == "box":
        edge = np.maximum(abs(x), abs(y)) - 0.81
    elif kind == "triangle":
        edge = np.maximum(abs(x) * np.cos(np.pi / 6) - y / 2, y) - REACH / 2
    elif kind == "star":
        edge = _star(x, y, points=5, notch=0.5)
    elif kind == "cross":
        upright = np.maximum(abs(x) - 0.36, abs(y) - 1.05)
        level = np.maximum(abs(x) - 1.05, abs(y) - 0.36)
        edge = np.minimum(upright, level)
    elif kind == "ring":
        edge = abs(from_centre - 0.76) - 0.28
    elif kind == "moon":
        edge = np.maximum(from_centre - 1.05, 0.85 - np.hypot(x - 0.55, y + 0.2))
    else:
        edge = _heart(x, y)
    return np.asarray(edge)


def _star(x: Floats, y: Floats, points: int, notch: float) -> Floats:
    """Fold every spike onto one half of one, whose side is a straight line from tip to notch."""
    step = np.pi / points
    angle = abs((np.arctan2(x, -y) + step) % (2 * step) - step)
    from_centre = np.hypot(x, y)
    along, across = from_centre * np.cos(angle), from_centre * np.sin(angle)
    run, rise = REACH - notch * np.cos(step), notch * np.sin(step)
    return np.asarray(((along - REACH) * rise + across * run) / np.hypot(run, rise))


def _heart(x: Floats, y: Floats) -> Floats:
    """A square on its corner with a disc on each of its upper sides."""
    half, low = 0.8, 0.2
    square = (abs(x) + abs(y - low) - half) * np.sqrt(0.5)
    disc = np.hypot(abs(x) - half / 2, y - low + half / 2) - half * np.sqrt(0.5)
    return np.asarray(np.minimum(square, disc))


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
        patch[:] = _to_bytes(patch / 255 + cover[t, ..., None] * (surface[t] - patch / 255))
        columns, rows = cover[t].any(axis=0).nonzero()[0], cover[t].any(axis=1).nonzero()[0]
        bounds[t] = left + columns[0], top + rows[0], left + columns[-1] + 1, top + rows[-1] + 1
    return bounds


def draw_place(
    rng: np.random.Generator, *, place: str, shade: str, size: int, brightness: float
) -> UInt8Array:
    """(H, W, 3) background: a muted colour, with light that falls off across it."""
    base = np.array(colorsys.hsv_to_rgb(rng.random(), rng.uniform(0.0, 0.15), VALUES[shade]))
    slope_x, slope_y = rng.uniform(-0.25, 0.25, 2)
    pitch, shift = rng.uniform(0.09, 0.16), rng.random()
    coarse, fine = rng.normal(size=(6, 6)), rng.normal(size=(60, 60))
    tones = rng.normal(size=(32, 32))

    x = (np.arange(size) + 0.5) / size
    y = x[:, None]
    column, row = ((x / pitch) + shift).astype(int), ((y / pitch) + shift).astype(int)
    seam_x, seam_y = (((x / pitch) + shift) % 1 < 0.07), (((y / pitch) + shift) % 1 < 0.07)
    relief = {
        "wall": 0.25 * _smooth(coarse, size),
        "carpet": 0.5 * _smooth(fine, size) + 0.4 * _smooth(coarse, size),
        "boards": 0.4 * tones[0, column] - 1.2 * seam_x + 0.2 * _smooth(fine[:6], size),
        "tiles": 0.4 * tones[row, column] - 1.2 * (seam_x | seam_y),
    }[place]
    light = 1 + slope_x * (x - 0.5) + slope_y * (y - 0.5) + 0.14 * relief
    return _to_bytes(base * brightness * light[..., None])


def _to_bytes(colours: Floats) -> UInt8Array:
    return np.rint(255 * np.clip(colours, 0, 1)).astype(np.uint8)


def _smooth(grid: Floats, size: int) -> Floats:
    """(size, size): the grid's values, joined by straight lines."""
    return np.asarray(_hats(size, grid.shape[0]) @ grid @ _hats(size, grid.shape[1]).T)


def _hats(size: int, knots: int) -> Floats:
    """(size, knots): the weight of each knot at each pixel."""
    at = np.linspace(0, knots - 1, size)[:, None]
    return np.clip(1 - abs(at - np.arange(knots)), 0, None)
