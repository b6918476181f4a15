"""Sentences as a single line that every format can hold."""

from __future__ import annotations

import re

# Control characters, halves of surrogate pairs and non-characters: XML forbids them, and nobody
# can see them. White space among them is dealt with before.
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def one_line(text: str) -> str:
    """The text with single spaces for white space, and the replacement sign for the unwritable."""
    return _UNWRITABLE.sub("\ufffd", " ".join(text.split()))
