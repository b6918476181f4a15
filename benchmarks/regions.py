"""Region-sequences: against candidate-by-candidate NumPy, and cost against frames, regions, words."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from densevidcap.records import FrameGrid, Grid
from densevidcap.regions import generate_sequences
from densevidcap.regions.objectives import SMOOTHING, Float64Array

SEQUENCES = 10


def make_clip(frames: int = 30, side: int = 4, words: int = 6690, features: int = 2048) -> FrameGrid:
    """Random word probabilities, few of them high, and non-negative features."""
    rng = np.random.default_rng(0)
    shape = (frames, side * side)
    return FrameGrid(
        Grid(side, side, 1, 1),
        np.arange(frames) / 2,
        rng.random((*shape, words), np.float32) ** 6,
        rng.random((*shape, features), np.float32),
    )


def generate_by_candidate(clip: FrameGrid, k: int) -> list[list[int]]:
    """What `generate_sequences` does by default, one candidate and one chosen sequence at a time."""
    frames = len(clip.times)
    attainable = clip.probabilities.max(axis=(0, 1)).sum()
    units = clip.features / np.linalg.norm(clip.features, axis=2, keepdims=True)
    neighbours = clip.grid.neighbours()
    chosen: list[Float64Array] = []
    paths: list[list[int]] = []
    for _ in range(k):
        path: list[int] = []
        pooled = np.zeros(clip.probabilities.shape[2], np.float32)
        for frame in range(frames):
            allowed = neighbours[path[-1]] if path else np.ones(len(clip.grid), bool)
            gains = np.full(len(clip.grid), -np.inf)
            for region in np.flatnonzero(allowed):
                candidate = np.maximum(pooled, clip.probabilities[frame, region])
                q = (candidate + SMOOTHING) / (candidate + SMOOTHING).sum()
                f_inf = candidate.sum() / attainable
                f_div = sum((p * np.log(p / q)).sum() for p in chosen) / max(len(chosen), 1)
                f_coh = sum(
                    units[frame, region] @ units[earlier, path[earlier]] for earlier in range(frame)
                ) / (frames * (frames - 1) / 2)
                gains[region] = f_inf + f_div + f_coh
            path.append(int(gains.argmax()))
            pooled = np.maximum(pooled, clip.probabilities[frame, path[-1]])
        paths.append(path)
        chosen.append((pooled + SMOOTHING) / (pooled + SMOOTHING).sum())
    return paths
