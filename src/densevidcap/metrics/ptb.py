"""The Penn Treebank tokenizer of the COCO caption code, without its Java.

pycocoevalcap brings Stanford's tokenizer as a jar. Where its tokens begin and end is the
work of a finite automaton, a table among the jar's constants: read from there, it is
followed here character by character, so that tokens end where the original ends them.
What becomes of a token's text then, for the COCO code's options, stands in `_RULES`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile, ZipFile

import numpy as np

from densevidcap.metrics.coco import CocoError, find_beside, import_coco

_LEXER = "edu/stanford/nlp/process/PTBLexer.class"
_DIGEST = "715fdfb3652cc6796f90f28442378a0c71c92b5909f1fc934f698497987b6dd0"
"""Its SHA-256: what the numbers of rules and states mean holds for this one alone."""
_START = 2
"""The automaton's state before a token, in the traditional Treebank style."""
_ACCEPTING, _FINAL = 1, 8
"""A token may end in this state; no longer one begins like this."""
_NEWLINE = "\n"


def tokenise_ptb(sentences: Sequence[str]) -> list[str]:
    """Each sentence in lower case without punctuation, its tokens parted by blanks."""
    # Whatever breaks a line in some language would break the sentences' order.
    lines = "".join(" ".join(sentence.split()) + _NEWLINE for sentence in sentences)
    dropped = frozenset(import_coco("tokenizer.ptbtokenizer").PUNCTUATIONS)
    text = lines.encode(errors="replace").decode()
    tokens: Iterable[str]
    if max(text, default="") <= "\uffff":
        tokens = _load_automaton().tokenise(text)
    else:
        tokens = map(_pair_surrogates, _load_automaton().tokenise(_part_surrogates(text)))
    return [
        " ".join(token for token in line.rstrip().split(" ") if token not in dropped)
        for line in _write_lines(tokens).split(_NEWLINE)[:-1]
    ]


def _write_lines(tokens: Iterable[str]) -> str:
    pieces, gap = [], ""
    for token in tokens:
        if token == _NEWLINE:
            pieces.append(token)
            gap = ""
        else:
            pieces += (gap, token.lower())
            gap = " "
    return "".join(pieces)


def _part_surrogates(text: str) -> str:
    """As Java has it: characters beyond 16 bits are two."""
    units = np.frombuffer(text.encode("utf-16-le"), np.dtype("<u2"))
    return "".join(map(chr, units.tolist()))


def _pair_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@dataclass(frozen=True)
class _Rule:
    """What is done with the longest text that a rule of the tokenizer matches."""

    write: Callable[[str], str | None] = str
    """The token, or None if there is none."""
    context: tuple[int, int] | None = None
    """States from which the text is read forwards and backwards, to find where the token ends
    and what must follow it begins."""
    given_back: int = 0
    """So many characters at the end are read again."""
    only: int | None = None
    """All but so many are read again."""
    trimmed: bool = False
    """Blanks at the end are no part of it."""
    abbreviates: bool = False
    """Its full stop ends the sentence too: it is written, and read again."""


def _drop_soft_hyphens(text: str) -> str:
    return text.replace("\xad", "") or "-"


def _keep_together(text: str) -> str:
    return text.replace(" ", "\xa0")


def _name_brackets(text: str) -> str:
    return text.replace("(", "-LRB-").replace(")", "-RRB-")


def _shorten_dashes(text: str) -> str:
    return "--" if 3 <= len(text) <= 4 else text


def _write_entities(text: str) -> str:
    return re.sub("&amp;", "&", text, flags=re.IGNORECASE)


def _write_fractions(text: str) -> str:
    return text.translate(_FRACTIONS)


def _write_currency(text: str) -> str:
    return text.translate(_CURRENCIES)


def _open_quotes(text: str) -> str:
    return _part_quotes(re.sub("&apos;|'", "`", text), "``")


def _close_quotes(text: str) -> str:
    return _part_quotes(text.replace("&apos;", "'"), "''")


def _part_quotes(text: str, double: str) -> str:
    return re.sub('"|&quot;', double, text).translate(_QUOTES)


def _constant(token: str) -> Callable[[str], str]:
    return lambda _: token


_FRACTIONS: Final = str.maketrans({"¼": "1/4", "½": "1/2", "¾": "3/4", "⅓": "1/3", "⅔": "2/3"})
_CURRENCIES: Final = str.maketrans({"¢": "cents", "£": "#", **dict.fromkeys("\x80¤₠€", "$")})
_QUOTES: Final = str.maketrans(
    dict.fromkeys("\x91‘‛‹", "`")
    | dict.fromkeys("\x92’›", "'")
    | dict.fromkeys("\x93“«", "``")
    | dict.fromkeys("\x94”»", "''")
)
_PLAIN = _Rule()
_HYPHENS = _Rule(_drop_soft_hyphens)
_RULES: Final = {
    1: _Rule(lambda _: None),
    2: _Rule(_constant("<")),
    3: _PLAIN,
    4: _Rule(_shorten_dashes),
    5: _Rule(_constant(_NEWLINE)),
    6: _HYPHENS,
    7: _Rule(lambda _: None),
    8: _Rule(_close_quotes),
    9: _PLAIN,
    10: _Rule(_constant(">")),
    11: _Rule(_constant("--")),
    12: _HYPHENS,
    13: _Rule(_constant("...")),
    14: _Rule(_write_fractions),
    15: _Rule(_write_currency),
    16: _Rule(_constant("-RCB-")),
    17: _Rule(_constant("-LRB-")),
    18: _Rule(_constant("-RRB-")),
    19: _PLAIN,
    20: _Rule(_constant("-LCB-")),
    21: _Rule(_constant("-RSB-")),
    22: _Rule(_constant("-LSB-")),
    23: _Rule(lambda _: None),
    24: _Rule(context=(13, 14)),
    25: _Rule(given_back=1),
    26: _Rule(_open_quotes, given_back=1),
    27: _Rule(_keep_together),
    28: _Rule(_name_brackets),
    29: _HYPHENS,
    30: _Rule(_drop_soft_hyphens, context=(3, 4)),
    31: _PLAIN,
    32: _Rule(_drop_soft_hyphens, given_back=1),
    33: _Rule(abbreviates=True),
    34: _Rule(_name_brackets, given_back=1),
    35: _Rule(_open_quotes, only=1),
    36: _Rule(_close_quotes, given_back=1),
    37: _Rule(_write_entities),
    39: _Rule(_keep_together),
    40: _Rule(_drop_soft_hyphens, context=(5, 6)),
    41: _Rule(context=(16, 17)),
    42: _Rule(given_back=2),
    43: _Rule(context=(15, 14)),
    44: _Rule(context=(9, 10), trimmed=True),
    45: _PLAIN,
    46: _Rule(_drop_soft_hyphens, given_back=1),
    47: _Rule(context=(7, 8), trimmed=True, abbreviates=True),
    48: _Rule(given_back=2),
    49: _Rule(context=(11, 12), abbreviates=True),
    50: _Rule(given_back=3),
    51: _Rule(_write_entities, given_back=1),
    52: _PLAIN,
    53: _Rule(given_back=4),
    54: _Rule(lambda text: _name_brackets(_keep_together(text))),
}
"""By the numbers that the automaton's states have for them. No text leads to 38."""


class Automaton:
    """The tables of the tokenizer's scanner."""

    def __init__(self, constants: dict[str, str]) -> None:
        def unpack(name: str) -> Any:
            runs = _read_numbers(constants[name])
            return np.repeat(runs[1::2], runs[::2])

        self._classes = unpack("ZZ_CMAP_PACKED")
        self._rules = unpack("ZZ_ACTION_PACKED_0").tolist()
        self._attributes = unpack("ZZ_ATTRIBUTE_PACKED_0").tolist()
        rows = _read_numbers(constants["ZZ_ROWMAP_PACKED_0"])
        self._rows = (rows[::2] << 16 | rows[1::2]).tolist()
        parts = sorted(name for name in constants if name.startswith("ZZ_TRANS_PACKED_"))
        self._next = (np.concatenate([unpack(name) for name in parts]) - 1).tolist()

    def tokenise(self, text: str) -> Iterator[str]:
        """The tokens of a text whose characters have at most 16 bits."""
        units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), np.dtype("<u2"))
        classes = self._classes[units].tolist()
        place = 0
        while place < len(text):
            state, end = self._match(classes, place)
            rule = _RULES[self._rules[state]]
            if rule.context is not None:
                end = self._find_end(classes, place, end, *rule.context)
            if rule.trimmed:
                end = place + len(text[place:end].rstrip(" \t\n\x0b\x0c\r\x85"))
            if rule.only is not None:
                end = place + rule.only
            end -= rule.given_back
            token = rule.write(text[place:end])
            if rule.abbreviates:
                end -= 1
                if rule.trimmed and end - place == 1:
                    token = text[place:end]
            assert end > place, "every token has a character"
            if token is not None:
                yield token
            place = end

    def _match(self, classes: Sequence[int], place: int) -> tuple[int, int]:
        """The longest match from there on: the state that it ends in, and its end."""
        following, rows, attributes = self._next, self._rows, self._attributes
        state, found, end = _START, -1, place
        for position in range(place, len(classes)):
            state = following[rows[state] + classes[position]]
            if state < 0:
                break
            if attributes[state] & _ACCEPTING:
                found, end = state, position + 1
                if attributes[state] & _FINAL:
                    break
        assert found >= 0, "every character begins a token"
        return found, end

    def _find_end(
        self, classes: Sequence[int], place: int, end: int, forwards: int, backwards: int
    ) -> int:
        """The last place where what is before matches forwards and what is after backwards."""
        following, rows, attributes = self._next, self._rows, self._attributes
        possible = set()
        state = forwards
        for position in range(place, end + 1):
            if attributes[state] & _ACCEPTING:
                possible.add(position)
            if position == end:
                break
            state = following[rows[state] + classes[position]]
            if state < 0:
                break
        state = backwards
        for position in range(end, place, -1):
            if position in possible and attributes[state] & _ACCEPTING:
                return position
            state = following[rows[state] + classes[position - 1]]
        return place


def _read_numbers(constant: str) -> Any:
    """A string whose characters are numbers, as generated scanners keep their tables."""
    return np.frombuffer(constant.encode("utf-16-le", "surrogatepass"), np.dtype("<u2")).astype(
        np.int64
    )


@cache
def _load_automaton() -> Automaton:
    coco = import_coco("tokenizer.ptbtokenizer")
    return read_automaton(find_beside(coco, coco.STANFORD_CORENLP_3_4_1_JAR))


def read_automaton(jar: Path) -> Automaton:
    try:
        with ZipFile(jar) as archive:
            lexer = archive.read(_LEXER)
    except (OSError, BadZipFile, KeyError) as error:
        raise CocoError(jar, error) from error
    if sha256(lexer).hexdigest() != _DIGEST:
        raise CocoError(jar, "another version of the tokenizer")
    return Automaton(read_constants(lexer))


_SIZES: Final = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 18: 4}
"""Bytes of a constant by its tag, but of texts."""
_TEXT, _STRING, _WIDE = 1, 8, (5, 6)


def read_constants(content: bytes) -> dict[str, str]:
    """The constant strings of a Java class, by the names of their fields."""
    texts: dict[int, str] = {}
    strings: dict[int, int] = {}
    (count,) = struct.unpack_from(">H", content, 8)
    place, number = 10, 1
    while number < count:
        tag = content[place]
        if tag == _TEXT:
            (length,) = struct.unpack_from(">H", content, place + 1)
            text = content[place + 3 : place + 3 + length].replace(b"\xc0\x80", b"\0")
            texts[number] = text.decode(errors="surrogatepass")
            place += 3 + length
        else:
            if tag == _STRING:
                (strings[number],) = struct.unpack_from(">H", content, place + 1)
            place += 1 + _SIZES[tag]
        number += 2 if tag in _WIDE else 1
    (interfaces,) = struct.unpack_from(">H", content, place + 6)
    place += 8 + 2 * interfaces
    (fields,) = struct.unpack_from(">H", content, place)
    place += 2
    found = {}
    for _ in range(fields):
        _, name, _, attributes = struct.unpack_from(">4H", content, place)
        place += 8
        for _ in range(attributes):
            kind, length = struct.unpack_from(">HI", content, place)
            if texts[kind] == "ConstantValue":
                (value,) = struct.unpack_from(">H", content, place + 6)
                if value in strings:
                    found[texts[name]] = texts[strings[value]]
            place += 6 + length
    return found
