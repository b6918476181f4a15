"""Config files: what they say, and what they misspell; settings that are given beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any, Literal

import pytest

from densevidcap.config import ModelConfig
from densevidcap.config_files import build_section, read_toml
from densevidcap.errors import ModelError


@dataclass(frozen=True)
class Soup:
    litres: float = 1.5
    carrots: int = 3
    salt: Literal["none", "much"] = "none"
    name: str = "soup"
    vegan: bool = True
    herbs: tuple[str, ...] = ("thyme",)
    grams: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.carrots < 0:
            raise ValueError("carrots must not be negative")


@dataclass(frozen=True)
class Bread:
    slices: int = 2


@dataclass(frozen=True)
class Guest:
    name: str


@dataclass(frozen=True)
class Dinner:
    soup: Soup = field(default_factory=Soup)
    bread: Bread = field(default_factory=Bread)
    guests: tuple[Guest, ...] = ()

    def __post_init__(self) -> None:
        if len(self.guests) > self.bread.slices:
            raise ValueError("every guest needs a slice")


def read(path: Path) -> Dinner:
    return build_section(str(path), Dinner, read_toml(path))


def test_a_file_changes_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / "dinner.toml"
    path.write_text('[soup]\nlitres = 2\nsalt = "much"\nvegan = false\n')
    assert read(path) == Dinner(Soup(litres=2, salt="much", vegan=False), Bread())


def test_lists_and_tables(tmp_path: Path) -> None:
    path = tmp_path / "dinner.toml"
    path.write_text('[soup]\nherbs = ["dill", "mint"]\ngrams = { dill = 5, mint = 0.5 }\n')
    expected = Soup(herbs=("dill", "mint"), grams={"dill": 5, "mint": 0.5})
    assert read(path).soup == expected
    path.write_text("[soup]\nherbs = []\n[soup.grams]\n")
    assert read(path).soup == Soup(herbs=())
    path.write_text('[[guests]]\nname = "Ann"\n[[guests]]\nname = "Bob"\n')
    assert read(path).guests == (Guest("Ann"), Guest("Bob"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[soup]\npepper = 1", "[soup] has no 'pepper'; it has litres, carrots, salt, name, vegan"),
        ("[stew]\nlitres = 1", "has no 'stew'; it has soup, bread, guests"),
        ("soup = 3", "'soup' must be a section: write [soup]"),
        ("[soup]\ncarrots = 1.5", "[soup] carrots = 1.5 must be a whole number"),
        ("[soup]\ncarrots = true", "[soup] carrots = True must be a whole number"),
        ('[soup]\nlitres = "1"', "[soup] litres = '1' must be a number"),
        ('[soup]\nsalt = "some"', "[soup] salt = 'some' must be one of 'none', 'much'"),
        ("[soup]\nname = 3", "[soup] name = 3 must be a text in quotes"),
        ("[soup]\nvegan = 1", "[soup] vegan = 1 must be true or false"),
        ('[soup]\nherbs = "dill"', "[soup] herbs = 'dill' must be a list, each a text in quotes"),
        ("[soup]\nherbs = [1]", "[soup] herbs = [1] must be a list, each a text in quotes"),
        ("[soup]\ngrams = 5", "[soup] grams = 5 must be a table, each a number"),
        (
            "[soup.grams]\ndill = true",
            "[soup] grams = {'dill': True} must be a table, each a number",
        ),
        ("[soup]\ncarrots = -1", "[soup] carrots must not be negative"),
        ("[soup", "not a TOML file"),
        ("[[guests]]", "[guests] needs 'name'"),
        ("[guests]", "'guests' must be a list of sections: write [[guests]]"),
        ('[bread]\nslices = 0\n[[guests]]\nname = "Ann"', "every guest needs a slice"),
    ],
)
def test_faults_name_the_file_and_the_key(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "dinner.toml"
    path.write_text(text)
    with pytest.raises(ModelError) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {fault}")
    assert "\n" not in message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.toml: no such file"):
        read(tmp_path / "none.toml")


@pytest.mark.parametrize(
    "values",
    [
        {"captioner.kind": "s2vt", "captioner.hidden": 7},
        {"streams.frame_level": ("frames", "motion"), "streams.dropout": {"motion": 0.3}},
        {
            "streams.frame_level": ("category",),
            "streams.clip_level": ("clip", "frames"),
            "decoding.categories": 1,
        },
        {"streams.clip_level": ("clip",), "decoding.categories": 0},
    ],
)
def test_settings_that_go_together_do_so_in_any_order(values: dict[str, Any]) -> None:
    before = ModelConfig().override({"decoding.categories": 2})
    for order in permutations(values.items()):
        config = before.override(dict(order))
        assert config.list_differences(before) == values


def test_settings_that_do_not_go_together_are_refused_in_any_order() -> None:
    for order in permutations({"captioner.hidden": 7, "captioner.kind": "bi-s2vt"}.items()):
        with pytest.raises(ModelError, match=r"settings: \[captioner\] hidden .* must be even"):
            ModelConfig().override(dict(order))


@pytest.mark.parametrize("name", ["beam", "decoding.beam.width", "regions.terms.motion", ""])
def test_a_setting_that_there_is_not_is_named(name: str) -> None:
    with pytest.raises(ModelError, match=f"no setting '{name}'"):
        ModelConfig().override({name: 1})
