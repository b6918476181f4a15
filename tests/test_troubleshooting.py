"""docs/troubleshooting.md: every message that it quotes is one of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GAP = "…"
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"^> (.*)$", PAGE, re.MULTILINE)


def list_texts() -> Iterator[str]:
    """Strings of the package, with a gap for what is put in; constants of a module stand for
    themselves."""
    for path in (ROOT / "src").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr):
                yield "".join(_read(part, constants) for part in node.values)


def _read(part: ast.expr, constants: dict[str, str]) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
        return constants.get(part.value.id, GAP)
    return GAP


@pytest.fixture(scope="module")
def texts() -> set[str]:
    return set(list_texts())


def test_the_page_quotes_messages() -> None:
    assert len(QUOTED) > 20
    assert len(set(QUOTED)) == len(QUOTED)


@pytest.mark.parametrize("message", QUOTED)
def test_a_quoted_message_is_in_the_code(message: str, texts: set[str]) -> None:
    assert message in texts
