"""Shapes of things, as distances to their edge; a shape's radius is about 1 and at most REACH."""

from __future__ import annotations

import numpy as np

from densevidcap.testworld.layout import REACH, Floats


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
