"""What things and places look like: shapes, surfaces, backgrounds."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from densevidcap.examples.layout import REACH, Floats
from densevidcap.types import UInt8Array


def distance(kind: str, x: Floats, y: Floats) -> Floats:
    """About the signed distance of points to the shape's edge, negative inside; y points down."""
    match kind:
        case "ball":
            edge = np.hypot(x, y) - 1
        case "box":
            edge = np.maximum(abs(x), abs(y)) - 0.81
        case "triangle":
            edge = np.maximum(abs(x) * np.cos(np.pi / 6) - y / 2, y) - REACH / 2
        case "star":
            edge = _star(x, y, points=5, notch=0.5)
        case "cross":
            edge = np.minimum(_bar(x, y), _bar(y, x))
        case "ring":
            edge = abs(np.hypot(x, y) - 0.76) - 0.28
        case "moon":
            edge = np.maximum(np.hypot(x, y) - 1.05, 0.85 - np.hypot(x - 0.55, y + 0.2))
        case "heart":
            edge = _heart(x, y)
        case _:
            raise ValueError(f"no shape is called {kind}")
    return np.asarray(edge)


def _bar(along: Floats, across: Floats) -> Floats:
    return np.asarray(np.maximum(abs(along) - 1.05, abs(across) - 0.36))


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
