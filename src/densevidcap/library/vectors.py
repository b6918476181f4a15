"""Directions of what is seen, a byte a feature, in a file that is mapped into memory.

Rows are only added. They are compared exactly, in blocks and with one product each: for a million
rows that is a part of a second, and nothing has to be built, tuned or rebuilt for it.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from densevidcap.library.shown import Int8Array
from densevidcap.types import FloatArray

BLOCK = 1024
"""Rows that are compared at once: in floats they fit the cache of a core."""
SAMPLE = 4096
"""Rows whose mean is what all of them have in common."""


class VectorFile:
    """The first `count` rows of `width` bytes; what a killed process wrote behind them is none."""

    def __init__(self, path: Path, width: int, count: int) -> None:
        self._path, self.width, self.count = path, width, count

    @property
    def is_whole(self) -> bool:
        """Whether all rows are there."""
        try:
            return not self.count or self._path.stat().st_size >= self.count * self.width
        except OSError:
            return False

    def append(self, rows: Int8Array) -> int:
        """The number of the first of them."""
        first = self.count
        with self._path.open("r+b" if self._path.exists() else "w+b") as stream:
            stream.seek(first * self.width)
            stream.write(np.ascontiguousarray(rows, np.int8).tobytes())
            stream.flush()
            os.fsync(stream.fileno())
        self.count += len(rows)
        return first

    def read(self) -> Int8Array:
        """(N, D), mapped: only what is looked at is read."""
        if not self.count or not self.width:
            return np.zeros((self.count, self.width), np.int8)
        return np.memmap(self._path, np.int8, "r", shape=(self.count, self.width))


def find_centre(rows: Int8Array, live: npt.NDArray[np.int64]) -> FloatArray:
    """(D,): the mean direction of those rows, or of some of them, evenly spread."""
    chosen = live[:: max(1, -(-len(live) // SAMPLE))]
    if not len(chosen):
        return np.zeros(rows.shape[1], np.float32)
    return np.asarray(lengthen(rows[chosen].astype(np.float32)).mean(axis=0), np.float32)


def compare(rows: Int8Array, queries: npt.NDArray[np.floating], centre: FloatArray) -> FloatArray:
    """(N,): the largest cosine of each row (N, D) with the queries (Q, D), both seen from `centre`.

    Without the centre everything is much like everything: features have a lot in common.
    """
    wanted = lengthen(lengthen(queries.astype(np.float32)) - centre)
    factors = np.concatenate([wanted, centre[None]]).T
    offsets = wanted @ centre
    square = float(centre @ centre)
    cosines = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK].astype(np.float32)
        lengths = np.sqrt(np.einsum("nd,nd->n", block, block))
        # A row without a direction lies in the centre of none.
        products = (block @ factors) / np.maximum(lengths, 1e-6)[:, None]
        away = np.sqrt(np.maximum(1 - 2 * products[:, -1] + square, 1e-12))
        near = (products[:, :-1] - offsets).max(axis=1) / away
        cosines[start : start + len(block)] = np.where(lengths > 0, near, -1.0)
    return cosines


def lengthen(vectors: FloatArray) -> FloatArray:
    """To length one; what has no direction stays none."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
