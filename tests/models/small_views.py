"""Views of clips with random numbers."""

from __future__ import annotations

import numpy as np

from densevidcap.models.views import ClipView

REGIONS, FEATURES, WORDS = 6, 5, 7


def make_view(frames: int, categories: int = 3, seed: int = 0) -> ClipView:
    """A sequence for each region, which in every frame are in different ones."""
    random = np.random.default_rng(seed)
    paths = np.stack([random.permutation(REGIONS) for _ in range(frames)], axis=1)
    return ClipView(
        random.random((frames, REGIONS, FEATURES), np.float32),
        paths,
        random.random((REGIONS, WORDS), np.float32),
        random.random(WORDS, np.float32),
        random.dirichlet(np.ones(categories)).astype(np.float32) if categories else None,
    )
