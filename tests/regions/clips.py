"""Random clips, small enough to search exhaustively."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from densevidcap.config import RegionsConfig
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

DIVERGENCES = ("nearest_divergence", "divergence")


def three_terms(divergence: str, *weights: float) -> dict[str, float]:
    """Informativeness, one of the divergences and coherence."""
    names = ("informativeness", divergence, "coherence")
    return dict(zip(names, weights or (1.0, 1.0, 1.0), strict=True))


EQUAL = three_terms("nearest_divergence")
scalings = st.sampled_from(["clip", "paper"])
terms = st.builds(
    three_terms, st.sampled_from(DIVERGENCES), *[st.sampled_from([0.0, 0.3, 1.0, 2.5])] * 3
)
configs = st.builds(RegionsConfig, terms=terms, scaling=scalings)

INFORMATIVE = RegionsConfig(terms={"informativeness": 1.0})
COHERENT = RegionsConfig(terms={"coherence": 1.0})
