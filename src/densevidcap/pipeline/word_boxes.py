"""Where in a frame a model sees a word: its map, the point that it makes, and its box."""

from __future__ import annotations

from collections.abc import Sequence

from densevidcap.models.word_detector import LexicalFCN
from densevidcap.types import Box, FloatArray, Frames, Grid


def map_words(model: LexicalFCN, frames: Frames, words: Sequence[str]) -> FloatArray:
    """(T, rows, columns): the largest probability of any of the words, on the model's regions.

    The model knows at least one of the words.
    """
    index = model.lexicon.index
    known = [index[word] for word in words if word in index]
    seen = model.read(frames)
    strongest: FloatArray = seen.probabilities[:, :, known].max(axis=2)
    return strongest.reshape(len(frames), seen.grid.rows, seen.grid.columns)


def find_word_point(word_map: FloatArray, grid: Grid) -> tuple[float, float]:
    """(x, y) of the strongest region's middle, from a frame's (rows, columns)."""
    return grid.centre(int(word_map.argmax()))


def find_word_box(word_map: FloatArray, grid: Grid) -> Box:
    """The strongest region, from a frame's (rows, columns)."""
    return grid.box(int(word_map.argmax()))
