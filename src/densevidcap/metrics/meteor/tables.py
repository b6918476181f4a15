"""What METEOR knows of English words, read from its jar: function words, stems, synonyms."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final
from zipfile import BadZipFile, ZipFile

from densevidcap.metrics.coco import CocoError, find_beside, import_coco
from densevidcap.metrics.meteor.stems import find_stem
from densevidcap.metrics.meteor.text import read_abbreviations

_BASES: Final = (
    *(("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh")),
    *(("men", "man"), ("ies", "y"), ("es", "e"), ("es", "")),
    *(("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    *(("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
)
"""WordNet's rules from a form of a noun, verb or adjective to the word itself, in its order."""


@dataclass(frozen=True, eq=False)
class Word:
    """What of a word is compared; there is one of each."""

    key: int
    """Words of one key are the same: METEOR compares these numbers, not the letters."""
    stem: int
    """The key of its stem."""
    meanings: AbstractSet[str]
    """WordNet's numbers of all that it, or what it is a form of, can mean."""
    is_function: bool
    """Whether it is one of those that are everywhere."""


class Words(dict[str, Word]):
    """All that is known of words, each looked up when it is first asked for."""

    def __init__(self) -> None:
        super().__init__()
        coco = import_coco("meteor.meteor")
        jar = find_beside(coco, coco.METEOR_JAR)
        try:
            with ZipFile(jar) as archive:
                self.abbreviations = read_abbreviations(
                    archive.read("nonbreaking/english.prefixes").decode()
                )
                self._functions = frozenset(
                    archive.read("function/english.words").decode().split("\n")
                )
                forms = archive.read("synonym/english.exceptions").decode().split("\n")
                synsets = archive.read("synonym/english.synsets").decode().split("\n")
        except (OSError, BadZipFile, KeyError, ValueError) as error:
            raise CocoError(jar, error) from error
        self._bases = defaultdict(list)
        for base, irregular in zip(forms[::2], forms[1::2], strict=False):
            for form in irregular.split():
                self._bases[form].append(base)
        self._synsets = dict(zip(synsets[::2], synsets[1::2], strict=False))

    def __missing__(self, word: str) -> Word:
        self[word] = known = Word(
            _make_key(word),
            _make_key(find_stem(word)),
            self._list_meanings(word),
            word in self._functions,
        )
        return known

    def _list_meanings(self, word: str) -> AbstractSet[str]:
        bases = self._bases[word] if word in self._bases else [self._find_base(word)]
        return {
            meaning for each in (word, *bases) for meaning in self._synsets.get(each, "").split()
        }

    def _find_base(self, word: str) -> str:
        if word.endswith("ss") or len(word) <= 2:
            return word
        for ending, other in _BASES:
            if word.endswith(ending):
                base = word.removesuffix(ending) + other
                if base in self._synsets:
                    return base
        return word


def _make_key(word: str) -> int:
    """As Java makes them. Different words can have the same, as "an" and "c0" do."""
    units = word.encode("utf-16-le", "surrogatepass")
    key = 0
    for (unit,) in struct.iter_unpack("<H", units):
        key = (31 * key + unit) & 0xFFFFFFFF
    return key
