"""Sentences as a single line that every format and every terminal can hold."""

from __future__ import annotations

import re

# Control characters (terminals obey them), halves of surrogate pairs and non-characters: XML
# forbids them, and nobody can see them. White space among them is dealt with before.
_UNWRITABLE = "\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
# They change the order in which the text around them is read.
_TURNING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_HIDDEN = re.compile(f"[{_UNWRITABLE}{_TURNING}]")


def one_line(text: str) -> str:
    """The text with single spaces for white space, and the replacement sign for what hides."""
    return replace_hidden(" ".join(text.split()))


def replace_hidden(text: str) -> str:
    """The text with the replacement sign for what nobody sees and machines obey."""
    return _HIDDEN.sub("\ufffd", text)
