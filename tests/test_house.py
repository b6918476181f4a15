"""What the house promises of itself: the map of the paper, and the names of tests."""

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


def test_test_files_have_names_of_their_own() -> None:
    """pytest imports them by name: two of one name in different folders break a clean run."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert len(names) == len(set(names))
