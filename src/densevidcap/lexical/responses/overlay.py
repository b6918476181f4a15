"""A word's responses as a smooth field of colour over a picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image

from densevidcap.data.clip import Size
from densevidcap.drawing.boxes import outline
from densevidcap.drawing.colours import RGB, RIM, mix
from densevidcap.drawing.motion import pass_evenly
from densevidcap.lexical.words import ShownWord
from densevidcap.records import FloatArray, FrameGrid, Grid, TimeArray, UInt8Array

RAMP = np.array(
    [(13, 8, 64), (84, 15, 124), (158, 36, 119), (219, 74, 85), (249, 137, 46), (252, 238, 152)],
    dtype=np.float32,
)
"""Colours from no response to the strongest. Their lightness rises evenly, so that the order
survives in grey and for colour-blind eyes."""

FAINTEST, STRONGEST = 0.08, 0.75
"""Opacity of the colours at the ramp's ends: low responses leave the picture to be seen."""

WHITE: RGB = (255, 255, 255)


@dataclass(frozen=True)
class ResponseMap:
    """How strongly the regions of a clip's frames answer to one word."""

    shown: ShownWord
    grid: Grid
    times: TimeArray
    """(T,) seconds."""
    responses: FloatArray
    """(T, R): P(word | region)."""

    @classmethod
    def of(cls, seen: FrameGrid, place: int, shown: ShownWord) -> ResponseMap:
        return cls(shown, seen.grid, seen.times, seen.probabilities[:, :, place])

    @property
    def scale(self) -> float:
        """The response that gets the ramp's last colour: the clip's strongest."""
        return max(self.shown.peak, 1e-6)

    def at(self, time: float) -> FloatArray:
        """(R,) responses at any time, in even passage from one looked-at frame to the next."""
        return np.asarray(pass_evenly(self.times, self.responses, time))

    def paint(self, image: UInt8Array, responses: FloatArray) -> Image.Image:
        """(H, W, 3) under its responses (R,), the strongest region outlined."""
        height, width = image.shape[:2]
        strengths = responses / self.scale
        picture = Image.fromarray(blend(image, spread(strengths, self.grid, (width, height))))
        strongest = int(strengths.argmax())
        # The weaker, the greyer.
        lightness = 0.4 + 0.6 * min(1.0, float(strengths[strongest]))
        outline(picture, self.grid.box(strongest), mix(RIM, WHITE, lightness))
        return picture


def colour(strength: FloatArray) -> FloatArray:
    """(…) in [0, 1] to the ramp's colours (…, 3)."""
    position = np.clip(strength, 0, 1) * (len(RAMP) - 1)
    below = np.minimum(position.astype(np.intp), len(RAMP) - 2)
    share = (position - below)[..., None]
    return np.asarray(RAMP[below] * (1 - share) + RAMP[below + 1] * share, dtype=np.float32)


def opacity(strength: FloatArray) -> FloatArray:
    """(…) in [0, 1] to how much of its colour covers the picture."""
    return np.asarray(FAINTEST + (STRONGEST - FAINTEST) * np.clip(strength, 0, 1) ** 1.3)


def spread(values: FloatArray, grid: Grid, size: Size) -> FloatArray:
    """(R,) values to a field (H, W) that has each region's value at its centre, smooth between."""
    width, height = size
    centres = np.array([grid.centre(region) for region in range(len(grid))])
    across = _weights(centres[: grid.columns, 0], width)
    down = _weights(centres[:: grid.columns, 1], height)
    return np.asarray(down @ values.reshape(grid.rows, grid.columns) @ across.T)


def _weights(centres: TimeArray, pixels: int) -> FloatArray:
    """(pixels, N): what each of N centres along a side gives to each pixel.

    Between two centres the share of the nearer one falls along 3t² - 2t³,
    which has neither the creases of straight lines nor the overshoot of splines.
    """
    places = (np.arange(pixels) + 0.5) / pixels
    weights = np.zeros((pixels, len(centres)), dtype=np.float32)
    if len(centres) == 1:
        return weights + 1
    left = np.clip(np.searchsorted(centres, places) - 1, 0, len(centres) - 2)
    t = np.clip((places - centres[left]) / (centres[left + 1] - centres[left]), 0, 1)
    share = t * t * (3 - 2 * t)
    rows = np.arange(pixels)
    weights[rows, left] = 1 - share
    weights[rows, left + 1] = share
    return weights


def blend(image: UInt8Array, strength: FloatArray) -> UInt8Array:
    """Colours of (H, W) strengths in [0, 1] over (H, W, 3), greyed so that they stand out."""
    pixels = image.astype(np.float32)
    grey = pixels @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
    muted = 0.45 * pixels + 0.55 * grey[..., None]
    share = opacity(strength)[..., None]
    return np.asarray(muted * (1 - share) + colour(strength) * share, dtype=np.uint8)
