"""Characters that nobody sees and machines obey."""

from __future__ import annotations

import re

# Control characters (terminals obey them), halves of surrogate pairs and non-characters: XML
# forbids them.
_UNWRITABLE = "\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
# They change the order in which the text around them is read.
_TURNING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_HIDDEN = re.compile(f"[{_UNWRITABLE}{_TURNING}]")


def replace_hidden(text: str) -> str:
    """The text with the replacement sign for each of them."""
    return _HIDDEN.sub("\ufffd", text)


def show_lines(text: str) -> str:
    """The same, but lines stay lines."""
    return "\n".join(map(replace_hidden, text.split("\n")))
