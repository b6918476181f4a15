"""Experiment files: what they say, and what they misspell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from densevidcap.config import read_config
from densevidcap.errors import ModelError
from densevidcap.lexical.fitting import WordsRecipe


@dataclass(frozen=True)
class Soup:
    litres: float = 1.5
    carrots: int = 3
    salt: Literal["none", "much"] = "none"
    name: str = "soup"

    def __post_init__(self) -> None:
        if self.carrots < 0:
            raise ValueError("carrots must not be negative")


@dataclass(frozen=True)
class Bread:
    slices: int = 2


def test_a_file_changes_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / "dinner.toml"
    path.write_text('[soup]\nlitres = 2\nsalt = "much"\n')
    assert read_config(path, soup=Soup, bread=Bread) == {
        "soup": Soup(litres=2, salt="much"),
        "bread": Bread(),
    }


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[soup]\npepper = 1", "[soup] has no 'pepper'; it has litres, carrots, salt, name"),
        ("[stew]\nlitres = 1", "no section 'stew'; there are soup, bread"),
        ("soup = 3", "'soup' must be a section: write [soup]"),
        ("[soup]\ncarrots = 1.5", "[soup] carrots = 1.5 must be a whole number"),
        ("[soup]\ncarrots = true", "[soup] carrots = True must be a whole number"),
        ('[soup]\nlitres = "1"', "[soup] litres = '1' must be a number"),
        ('[soup]\nsalt = "some"', "[soup] salt = 'some' must be one of 'none', 'much'"),
        ("[soup]\nname = 3", "[soup] name = 3 must be a text in quotes"),
        ("[soup]\ncarrots = -1", "[soup] carrots must not be negative"),
        ("[soup", "not a TOML file"),
    ],
)
def test_faults_name_the_file_and_the_key(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "dinner.toml"
    path.write_text(text)
    with pytest.raises(ModelError) as caught:
        read_config(path, soup=Soup, bread=Bread)
    message = str(caught.value)
    assert message.startswith(f"{path}: {fault}")
    assert "\n" not in message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.toml: no such file"):
        read_config(tmp_path / "none.toml", soup=Soup)


def test_the_shipped_recipe_can_be_read() -> None:
    recipe = WordsRecipe.read(Path(__file__).parent.parent / "experiments" / "words.toml")
    assert recipe.start.weights == "imagenet"
