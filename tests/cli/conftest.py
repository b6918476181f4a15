"""What verbs are tried on: a small model and a short clip."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.made_clips import write_video
from tests.models.small_world import TAGS, make_model

from densevidcap.data.lexicon import Lexicon, LexiconEntry


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "small"
    entries = (LexiconEntry(word, 99 - n, 1, pos) for n, (word, pos) in enumerate(TAGS.items()))
    make_model(Lexicon(entries)).save(folder, {"licence": "Apache-2.0"})
    return folder


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return write_video(tmp_path / "talk.mp4", 20)
