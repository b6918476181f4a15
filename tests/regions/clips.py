"""Random clips, small enough to search exhaustively."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from densevidcap.regions.objectives import Against, Scaling, Weights
from densevidcap.types import FrameGrid, Grid


def make_clip(
    seed: int, frames: int = 4, rows: int = 2, columns: int = 3, words: int = 7, features: int = 5
) -> FrameGrid:
    """Continuous random numbers, so that ties do not happen."""
    rng = np.random.default_rng(seed)
    shape = frames, rows * columns
    return FrameGrid(
        Grid(rows, columns, window=1, stride=1),
        np.arange(frames) / 2,
        rng.random((*shape, words)).astype(np.float32) ** 2,
        rng.random((*shape, features)).astype(np.float32),
    )


clips = st.builds(
    make_clip,
    seed=st.integers(0, 2**32 - 1),
    frames=st.integers(1, 4),
    rows=st.integers(1, 3),
    columns=st.integers(1, 3),
)

againsts = st.sampled_from(list[Against](["nearest", "all"]))
scalings = st.sampled_from(list[Scaling](["clip", "paper"]))
weights = st.builds(Weights, *[st.sampled_from([0.0, 0.3, 1.0, 2.5])] * 3)

INFORMATIVE = Weights(1, 0, 0)
DIVERSE = Weights(0, 1, 0)
COHERENT = Weights(0, 0, 1)
