"""The configs that come with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from densevidcap.config import ModelConfig
from densevidcap.config_files import CONFIGS
from densevidcap.data.manifest import ClipRecord
from densevidcap.errors import ModelError
from densevidcap.model_folder import BUNDLED, CARD, read_card
from densevidcap.train.model import SMALL, choose_config


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.stem)
def test_they_can_be_read(path: Path) -> None:
    config = ModelConfig.read(path.stem)
    assert len(config.training.words) == 1
    assert ModelConfig.from_dict(config.to_dict(), "itself") == config


def test_default_says_what_the_defaults_are() -> None:
    differences = ModelConfig.read("default").list_differences(ModelConfig())
    # A card that does not tell of these is of a model without.
    assert set(differences) == {
        *("frames.still", "words.whole", "streams.dropout", "streams.region_voice"),
        *("decoding.evaluator", "evaluator.kind"),
    }


@pytest.mark.parametrize("name", ["small", "large"])
def test_what_starts_from_the_bundled_model_has_its_sizes(name: str) -> None:
    config = ModelConfig.read(name)
    card = read_card(BUNDLED / "words")
    # A card of version 0.1 has other words for them.
    eyes, words = card.get("eyes") or card["encoder"], card.get("words") or card["head"]
    assert eyes == {field: getattr(config.eyes, field) for field in eyes}
    assert config.words.hidden == words["hidden"]
    if (BUNDLED / "sentences" / CARD).exists():
        theirs = read_card(BUNDLED / "sentences")["captioner"]
        for field in ("kind", "hidden", "embedding", "anchor"):
            assert getattr(config.captioner, field) == theirs[field]


def test_the_number_of_clips_chooses() -> None:
    clip = ClipRecord("clip", "clip.mp4", ("a dog",), None, "train")
    assert choose_config([clip] * (SMALL - 1)) == "small"
    assert choose_config([clip] * SMALL) == "large"


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    known = "default, features, full, large, paper, small"
    with pytest.raises(ModelError, match=f"none: no such config; .* one of {known}"):
        ModelConfig.read(tmp_path / "none")
