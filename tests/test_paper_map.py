"""docs/paper-map.md must not point to names that are gone."""

import importlib
import re
from pathlib import Path

import pytest

MAP = Path(__file__).parents[1] / "docs" / "paper-map.md"
NAMES = sorted(set(re.findall(r"`(densevidcap[\w.]*:\w+)`", MAP.read_text())))


@pytest.mark.parametrize("name", NAMES)
def test_each_name_of_the_map_exists(name: str) -> None:
    module, _, attribute = name.partition(":")
    assert hasattr(importlib.import_module(module), attribute)


def test_the_map_names_every_equation() -> None:
    text = MAP.read_text()
    for number in range(1, 16):
        assert re.search(rf"Eq\. (\d+-)?{number}\b|Eq\. {number}-", text), f"Eq. {number}"
