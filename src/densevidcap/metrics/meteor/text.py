"""What METEOR makes of a sentence before it compares words: its option -norm for English."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_LETTERS: Final = (
    "A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\u017e\u0400-\u0527\ua640-\ua66e\ua67e-\ua697\u1d00-\u1d7f"
)
_SYMBOL: Final = re.compile(rf"([^0-9{_LETTERS} \t\n\r\f\v.'`,\-‘’])")
_DOTS: Final = re.compile(r"\.{2,}")
_DOT: Final = "\ufdd0"
"""A dot of several in a row, which ends no abbreviation."""
_COMMAS: Final = tuple(
    re.compile(f"({before}),({after})")
    for before, after in (("[^0-9]", "[^0-9]"), ("[0-9]", "[^0-9]"), ("[^0-9]", "[0-9]"))
)
_QUOTE: Final = re.compile("[`‘’]")
_DOUBLE_QUOTE: Final = re.compile("[“”]|''")
_HYPHEN: Final = re.compile(rf"([0-9{_LETTERS}.])-([0-9{_LETTERS}])")
_APOSTROPHES: Final = (
    (re.compile(f"([^{_LETTERS}])'([^{_LETTERS}])"), r"\1 ' \2"),
    (re.compile(f"([^{_LETTERS}0-9])'([{_LETTERS}])"), r"\1 ' \2"),
    (re.compile(f"([{_LETTERS}])'([^{_LETTERS}])"), r"\1 ' \2"),
    (re.compile(f"([{_LETTERS}])'([{_LETTERS}])"), r"\1 '\2"),
    (re.compile("([0-9])'(s)"), r"\1 '\2"),
)
_TOKEN: Final = re.compile(r"[^ \t\n\r\f]+")
_CONTROLS: Final = "".join(map(chr, range(33)))
_BLANKS: Final = re.compile("[ \xa0\u2000-\u200a\u202f\u205f\u3000]+")
_LETTER: Final = re.compile(f"[{_LETTERS}]")

Abbreviations = Mapping[str, bool]
"""Those after which a full stop ends no sentence; True if only before a number."""


def read_abbreviations(text: str) -> dict[str, bool]:
    """From METEOR's list of them."""
    rows = [line.split() for line in text.splitlines()]
    return {
        row[0]: row[1:2] == ["#NUMERIC_ONLY#"] for row in rows if row and not row[0].startswith("#")
    }


def split_words(sentence: str, abbreviations: Abbreviations) -> list[str]:
    """Its words and punctuation, in lower case."""
    text = _SYMBOL.sub(r" \1 ", f" {sentence} ")
    text = _DOTS.sub(lambda dots: f" {_DOT * len(dots[0])} ", text)
    for comma in _COMMAS:
        text = comma.sub(r"\1 , \2", text)
    text = _DOUBLE_QUOTE.sub(' " ', _QUOTE.sub("'", text))
    text = _HYPHEN.sub(r"\1 \2", text.replace("–", "-").replace("--", "-"))
    for apostrophe, parted in _APOSTROPHES:
        text = apostrophe.sub(parted, text)
    text = _part_full_stops(_TOKEN.findall(text), abbreviations).replace(_DOT, ".")
    return _TOKEN.findall(_BLANKS.sub(" ", text).strip(_CONTROLS).lower())


def _part_full_stops(tokens: list[str], abbreviations: Abbreviations) -> str:
    """Full stops that end a sentence become words; those within an acronym go."""
    parted = []
    for token, following in zip(tokens, [*tokens, ""][1:], strict=True):
        if len(token) > 1 and token.endswith("."):
            word = token[:-1]
            numeric = abbreviations.get(word)
            if "." in word and _LETTER.search(word):
                token = token.replace(".", "")
            elif not (
                numeric is False
                or re.match("[a-z]", following)
                or (numeric and re.match("[0-9]", following))
            ):
                token = f"{word} ."
        parted.append(token)
    return " ".join(parted)
