"""Boxes that fit: from a map of how much each patch belongs to a thing to one box a frame.

A box is worth what its patches have above a level: too large a box pays for what it takes in, too
small a one misses what it leaves out. Of all boxes whose edges lie between patches, each frame gets
the one that is worth most together with its likeness to those before and after it, so that a box
neither jumps nor flickers. Where the picture is cut, it may.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from densevidcap.config import BoxesConfig
from densevidcap.types import Box, FloatArray, Grid, RegionSequence

Edges = npt.NDArray[np.intp]
"""(N, 4): left, top, right, bottom, counted in patches."""

CUT = 0.25
"""Mean likeness of patches to themselves, a frame later, below which the picture was cut."""
SWEEPS = 8
"""Times that all frames are gone through at most; most clips are settled after three."""


def reduce_patches(patches: FloatArray, numbers: int = 32) -> FloatArray:
    """(T, rows, columns, P): the principal components of patches (T, rows, columns, D).

    What is alike stays alike, in a tenth of the space.
    """
    rows = patches.reshape(-1, patches.shape[-1])
    rows = rows - rows.mean(axis=0)
    _, axes = np.linalg.eigh(rows.T @ rows)
    kept = axes[:, ::-1][:, :numbers]
    return np.asarray((rows @ kept).reshape(*patches.shape[:3], -1), dtype=np.float32)


def spread_windows(values: FloatArray, grid: Grid) -> FloatArray:
    """(T, R) of windows to (T, rows, columns) of patches: the mean of the windows over each."""
    total = np.zeros((len(values), grid.map_rows, grid.map_columns), np.float32)
    covered = np.zeros((grid.map_rows, grid.map_columns), np.float32)
    regions = values.reshape(len(values), grid.rows, grid.columns)
    # All regions' patches of one place within them at once, the last place first.
    for place in reversed(range(grid.window**2)):
        down, across = (slice(first, None, grid.stride) for first in divmod(place, grid.window))
        total[:, down, across][:, : grid.rows, : grid.columns] += regions
        covered[down, across][: grid.rows, : grid.columns] += 1
    return np.asarray(total / np.maximum(covered, 1), dtype=np.float32)


def fit_to_words(
    shown: FloatArray,
    windows: Grid,
    patches: FloatArray,
    config: BoxesConfig,
    sequence: RegionSequence | None = None,
) -> tuple[Box, ...]:
    """One box for each frame, from how strongly its windows show words (T, R).

    With a region-sequence, what is in its regions is meant before the same elsewhere.
    """
    path = np.zeros(patches.shape[:3], np.float32)
    if sequence is not None:
        for frame, box in zip(path, sequence.grid_boxes, strict=True):
            rows, columns = frame.shape
            down = slice(round(box.top * rows), round(box.bottom * rows))
            frame[down, round(box.left * columns) : round(box.right * columns)] = 1
    strength = find_strength(spread_windows(shown, windows), patches, path, config)
    return fit_boxes(strength, config, find_cuts(patches))


def find_strength(
    evidence: FloatArray, patches: FloatArray, path: FloatArray, config: BoxesConfig
) -> FloatArray:
    """(T, rows, columns), 0 to 1: how much each patch belongs to what the evidence speaks of.

    `evidence` (T, rows, columns) says where words are, but a word is surest of the part that tells
    most, a face or a wheel. So the patches (T, rows, columns, P) where it is strongest, those in
    the sequence's own regions before others (`path`, 1 inside), name what to look for, and all
    that look like them belong to it.
    """
    shown = evidence / np.maximum(evidence.max(axis=(1, 2), keepdims=True), 1e-6)
    telling = shown**config.sharpness * (1 + config.loyalty * path)
    # What all of a frame has in common tells nothing apart.
    looks = patches - patches.mean(axis=(1, 2), keepdims=True)
    looks = _normalise(looks)
    sought = _normalise(np.einsum("trc,trcp->tp", telling, looks))
    sought = _normalise(sought + config.memory * _normalise(sought.mean(axis=0)))
    alike = np.clip(np.einsum("trcp,tp->trc", looks, sought), 0, 1)
    return np.asarray(config.words * shown + (1 - config.words) * alike, dtype=np.float32)


def find_cuts(patches: FloatArray) -> npt.NDArray[np.bool_]:
    """(T - 1,): between which frames (T, rows, columns, P) hardly a patch stays as it was."""
    looks = _normalise(patches)
    same = np.einsum("trcp,trcp->trc", looks[:-1], looks[1:]).mean(axis=(1, 2))
    return np.asarray(same < CUT)


def _normalise(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-6), dtype=np.float32)


@lru_cache(maxsize=4)
def list_boxes(rows: int, columns: int) -> Edges:
    """All boxes whose edges lie between patches."""
    left, right = np.triu_indices(columns + 1, 1)
    top, bottom = np.triu_indices(rows + 1, 1)
    across, down = np.meshgrid(np.arange(len(left)), np.arange(len(top)))
    sides = left[across], top[down], right[across], bottom[down]
    return np.stack([side.ravel() for side in sides], axis=1)


def weigh_boxes(strength: FloatArray, boxes: Edges) -> FloatArray:
    """(T, N): the sum of each frame's strength (T, rows, columns) in each box, as a share of the
    frame's patches."""
    total = np.pad(strength, ((0, 0), (1, 0), (1, 0))).cumsum(axis=1).cumsum(axis=2)
    left, top, right, bottom = boxes.T
    within = total[:, bottom, right] - total[:, top, right]
    within += total[:, top, left] - total[:, bottom, left]
    return np.asarray(within / strength[0].size, dtype=np.float32)


def measure_overlap(boxes: Edges, other: npt.NDArray[np.intp]) -> FloatArray:
    """(N,): intersection over union of each box with another (4,)."""
    width = np.minimum(boxes[:, 2], other[2]) - np.maximum(boxes[:, 0], other[0])
    height = np.minimum(boxes[:, 3], other[3]) - np.maximum(boxes[:, 1], other[1])
    shared = np.maximum(width, 0) * np.maximum(height, 0)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    area = (other[2] - other[0]) * (other[3] - other[1])
    return np.asarray(shared / (areas + area - shared), dtype=np.float32)


def fit_boxes(
    strength: FloatArray, config: BoxesConfig, cuts: npt.NDArray[np.bool_] | None = None
) -> tuple[Box, ...]:
    """One box for each frame of a map (T, rows, columns) from 0 to 1.

    `cuts` (T - 1,) says between which frames the picture changes altogether.
    """
    count, rows, columns = strength.shape
    boxes = list_boxes(rows, columns)
    worth = weigh_boxes(strength - config.level, boxes)
    chosen = worth.argmax(axis=1)
    joined = np.ones(count - 1, np.bool_) if cuts is None else ~cuts

    @cache  # boxes settle soon, and neighbours often have the same
    def reward(neighbour: int) -> FloatArray:
        return np.asarray(config.steadiness * measure_overlap(boxes, boxes[neighbour]))

    for sweep in range(SWEEPS if config.steadiness else 0):
        before = chosen.copy()
        # Forwards and backwards in turn.
        for frame in range(count)[:: 1 if sweep % 2 == 0 else -1]:
            total = worth[frame].copy()
            if frame > 0 and joined[frame - 1]:
                total += reward(int(chosen[frame - 1]))
            if frame < count - 1 and joined[frame]:
                total += reward(int(chosen[frame + 1]))
            chosen[frame] = total.argmax()
        if (chosen == before).all():
            break
    shares = boxes[chosen] / (columns, rows, columns, rows)
    return tuple(Box(*edges) for edges in shares.tolist())
