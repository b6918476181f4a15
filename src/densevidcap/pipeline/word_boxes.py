"""Where in its frames a clip shows a word: the point, and the box round the thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from densevidcap.config import BoxesConfig
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.regions.boxes import fit_to_words
from densevidcap.types import Box, FrameGrid


class WordPlace(NamedTuple):
    point: tuple[float, float]
    """(x, y) of the middle of the window that shows it best, in fractions of the frame."""
    box: Box


def place_words(
    model: LexicalFCN, seen: FrameGrid, words: Sequence[str], config: BoxesConfig
) -> list[WordPlace]:
    """For each frame, where any of these words is; the model knows at least one of them."""
    index = model.lexicon.index
    known = [index[word] for word in words if word in index]
    if config.fit == "grid" or seen.patches is None:
        strongest = seen.probabilities[:, :, known].max(axis=2).argmax(axis=1).tolist()
        return [WordPlace(seen.grid.centre(each), seen.grid.box(each)) for each in strongest]
    maps = model.map_words(seen, known, config.window)
    shown = maps.probabilities.max(axis=2)
    boxes = fit_to_words(shown, maps.grid, seen.patches, config)
    strongest = shown.argmax(axis=1).tolist()
    places = zip(strongest, boxes, strict=True)
    return [WordPlace(maps.grid.centre(window), box) for window, box in places]
