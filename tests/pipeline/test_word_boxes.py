"""Where words are, at the resolution of patches."""

from __future__ import annotations

import numpy as np
import pytest
from tests.models.small_world import TAGS, make_model

from densevidcap.config import BoxesConfig
from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.pipeline.word_boxes import place_words
from densevidcap.types import FrameGrid, Frames, Grid


@pytest.fixture(scope="module")
def model() -> LexicalFCN:
    return make_model(Lexicon(LexiconEntry(word, 9, 5, pos) for word, pos in TAGS.items()))


@pytest.fixture(scope="module")
def seen(model: LexicalFCN) -> FrameGrid:
    images = np.random.default_rng(0).integers(256, size=(3, 96, 96, 3), dtype=np.uint8)
    return model.read(Frames(images, np.arange(3.0)))


def test_regions_are_windows_of_the_map(model: LexicalFCN, seen: FrameGrid) -> None:
    words = [2, 0]
    maps = model.map_words(seen, words, seen.grid.window)
    assert maps.words == tuple(model.lexicon.words[word] for word in words)
    assert maps.grid == Grid(3, 3, 2, 1) == seen.grid
    np.testing.assert_allclose(maps.probabilities, seen.probabilities[:, :, words], atol=1e-5)


def test_smaller_windows_see_more_places(model: LexicalFCN, seen: FrameGrid) -> None:
    assert seen.patches is not None
    maps = model.map_words(seen, [1], 1)
    assert maps.grid == Grid(3, 3, 1, 1)
    features = seen.patches[1, 2, 0]
    assert maps.probabilities[1, 6, 0] == pytest.approx(model.find_words(features)[1], abs=1e-5)


def test_a_window_is_never_larger_than_the_map(model: LexicalFCN, seen: FrameGrid) -> None:
    assert len(model.map_words(seen, [1], 99).grid) == 1


def test_without_patches_there_is_no_map(model: LexicalFCN, seen: FrameGrid) -> None:
    features = np.zeros((1, len(seen.grid), seen.features.shape[2]), np.float32)
    with pytest.raises(ValueError, match="without their patches"):
        model.map_words(model.describe(features, np.zeros(1)), [0], 1)


@pytest.mark.parametrize("fit", ["grid", "patches"])
def test_a_word_points_to_where_it_is_strongest(
    model: LexicalFCN, seen: FrameGrid, fit: str
) -> None:
    config = BoxesConfig(fit=fit, window=1)  # type: ignore[arg-type]
    places = place_words(model, seen, ["dog", "nothing known", "t-shirt"], config)
    known = [model.lexicon.index[word] for word in ("dog", "t-shirt")]
    grid, shown = seen.grid, seen.probabilities[:, :, known]
    if fit == "patches":
        maps = model.map_words(seen, known, 1)
        grid, shown = maps.grid, maps.probabilities
    for place, frame in zip(places, shown, strict=True):
        strongest = int(frame.max(axis=1).argmax())
        assert place.point == grid.centre(strongest)
        if fit == "grid":
            assert place.box == grid.box(strongest)
