"""Eyes for features that others extracted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.config import EyesConfig, WordsConfig
from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.errors import ModelError
from densevidcap.model_folder import read_card
from densevidcap.models.shared_eyes import SHARED
from densevidcap.models.word_detector import LexicalFCN, RegionEncoder
from densevidcap.types import Frames, MapShape

LEXICON = Lexicon(LexiconEntry(word, 9, 1, "NOUN") for word in ("dog", "cat"))


@given(st.data())
def test_regions_are_the_means_of_windows(data: st.DataObject) -> None:
    rows, columns, features = (data.draw(st.integers(1, 5)) for _ in range(3))
    window = data.draw(st.integers(1, min(rows, columns)))
    stride = data.draw(st.integers(1, 3))
    eyes = EyesConfig(
        "features", window=window, stride=stride, rows=rows, columns=columns, features=features
    )
    model = LexicalFCN(LEXICON, eyes, WordsConfig(hidden=0))
    assert model.encoder.form == MapShape(rows, columns, features)
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    maps = random.normal(size=(5, rows, columns, features)).astype(np.float32)
    seen = model.read(Frames(maps, np.arange(5.0)))
    expected = [
        maps[:, top : top + window, left : left + window].mean(axis=(1, 2))
        for top in range(0, rows - window + 1, stride)
        for left in range(0, columns - window + 1, stride)
    ]
    np.testing.assert_allclose(seen.features, np.stack(expected, axis=1), atol=1e-5)
    assert seen.frame_vectors is None
    weight, bias = (each.detach().numpy() for each in model.head.words.parameters())
    logits = seen.features @ weight.T + bias
    np.testing.assert_allclose(seen.probabilities, 1 / (1 + np.exp(-logits)), atol=1e-5)


def test_a_folder_keeps_the_sizes_and_needs_no_other_model(tmp_path: Path) -> None:
    eyes = EyesConfig("features", window=1, stride=1, rows=2, columns=3, features=4)
    model = LexicalFCN(LEXICON, eyes, WordsConfig(hidden=5))
    model.save(tmp_path / "words", {})
    assert SHARED not in read_card(tmp_path / "words")
    loaded = LexicalFCN.load(tmp_path / "words")
    assert loaded.encoder.config == eyes
    frames = Frames(np.ones((2, 2, 3, 4), np.float32), np.arange(2.0))
    seen, again = model.read(frames), loaded.read(frames)
    np.testing.assert_array_equal(seen.probabilities, again.probabilities)
    with pytest.raises(ModelError, match="the model sees features that others extracted, 2 x 3"):
        _ = loaded.encoder.size


@pytest.mark.parametrize(
    ("eyes", "fault"),
    [
        (EyesConfig("features"), "need the sizes of a frame's map"),
        (EyesConfig("features", rows=1, columns=1), "need the sizes of a frame's map"),
        (
            EyesConfig("features", rows=2, columns=5, features=9),
            "a window of 4 cells does not fit a frame of 2 x 5 regions of 9 features; set",
        ),
    ],
)
def test_sizes_that_do_not_go_together(eyes: EyesConfig, fault: str) -> None:
    with pytest.raises(ModelError, match=fault):
        RegionEncoder(eyes)
