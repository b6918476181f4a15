"""How large pictures are on a page, and which of many frames have room on it."""

from __future__ import annotations

import numpy as np

from densevidcap.data.clip import Size


def fit(shape: Size, longer: int) -> Size:
    """A size of the same shape whose longer side has that many pixels."""
    width, height = (max(1, round(side * longer / max(shape))) for side in shape)
    return width, height


def choose_evenly(count: int, most: int) -> list[int]:
    """Indices of at most `most` of `count` frames, evenly spread, the first and last among them."""
    return [int(index) for index in np.linspace(0, count - 1, min(count, most)).round()]
