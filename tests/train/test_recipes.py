"""The recipes that come with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from densevidcap.config import EyesConfig
from densevidcap.errors import ModelError
from densevidcap.model_folder import BUNDLED, CARD, read_card
from densevidcap.models.captioner import CaptionModelOptions
from densevidcap.train.recipe import RECIPES, SMALL, ModelRecipe, find_recipe


@pytest.mark.parametrize("name", ["small", "large", "full"])
def test_they_can_be_read(name: str) -> None:
    recipe = ModelRecipe.read(RECIPES / name)
    assert len(recipe.words) == (2 if name == "full" else 1)


@pytest.mark.parametrize("name", ["small", "large"])
def test_what_starts_from_the_bundled_model_has_its_sizes(name: str) -> None:
    recipe = ModelRecipe.read(RECIPES / name)
    card = read_card(BUNDLED / "words")
    assert recipe.words[0].encoder == EyesConfig(**card["eyes"])
    assert recipe.words[0].head.hidden == card["words"]["hidden"]
    if (BUNDLED / "sentences" / CARD).exists():
        ours = recipe.sentences.captioner
        theirs = CaptionModelOptions(**read_card(BUNDLED / "sentences")["captioner"])
        for field in ("kind", "hidden", "embedding", "anchor"):
            assert getattr(ours, field) == getattr(theirs, field)


@pytest.mark.parametrize("name", ["small", "large", "full"])
def test_all_stages_look_at_clips_in_the_same_way(name: str) -> None:
    """Else their features would be computed again for each."""
    recipe = ModelRecipe.read(RECIPES / name)
    assert recipe.sentences.sampling == recipe.evaluator.sampling
    assert recipe.sentences.library == recipe.evaluator.library


def test_the_number_of_clips_chooses() -> None:
    assert find_recipe(None, SMALL - 1).name == "small"
    assert find_recipe(None, SMALL).name == "large"
    assert find_recipe("full", 3) == RECIPES / "full"
    assert find_recipe("mine", 3) == Path("mine")


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none: no words\.toml in it; .* full, large, small"):
        ModelRecipe.read(tmp_path / "none")
