"""Sentences as a single line that every format can hold."""

from __future__ import annotations

from densevidcap.hidden import replace_hidden


def one_line(text: str) -> str:
    """The text with single spaces for white space, and the replacement sign for what hides."""
    return replace_hidden(" ".join(text.split()))
