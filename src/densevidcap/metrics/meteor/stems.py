"""Stems of English words: the second Porter algorithm, as METEOR 1.5 has it.

Later versions of the algorithm treat a few words otherwise, and would change the metric.
"""

from __future__ import annotations

import re
from typing import Final

_VOWELS: Final = frozenset("aeiouy")
"""A consonantal y is written Y, and is none."""
_EXCEPTIONS: Final = {
    "skis": "ski",
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "idly": "idl",
    "gently": "gentl",
    "ugly": "ugli",
    "early": "earli",
    "only": "onli",
    "singly": "singl",
} | {word: word for word in ("sky", "news", "howe", "atlas", "cosmos", "bias", "andes")}
_FINISHED: Final = frozenset(
    ("inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed")
)
"""What is left as it is once a plural's end is gone."""
_DERIVED: Final = {
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "abli": "able",
    "entli": "ent",
    "izer": "ize",
    "ization": "ize",
    "ational": "ate",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "aliti": "al",
    "alli": "al",
    "fulness": "ful",
    "ousli": "ous",
    "ousness": "ous",
    "iveness": "ive",
    "iviti": "ive",
    "biliti": "ble",
    "bli": "ble",
    "ogi": "og",
    "fulli": "ful",
    "lessli": "less",
    "li": "",
}
_DERIVED_AGAIN: Final = {
    "tional": "tion",
    "ational": "ate",
    "alize": "al",
    "icate": "ic",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
    "ative": "",
}
_ENDINGS: Final = dict.fromkeys(
    (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"),
        *("ism", "ate", "iti", "ous", "ive", "ize", "ion"),
    ),
    "",
)
_PAST_A_SYLLABLE: Final = re.compile("[^aeiouy]*[aeiouy]+[^aeiouy]")


def find_stem(word: str) -> str:
    """The stem of a word in lower case."""
    if word in _EXCEPTIONS:
        return _EXCEPTIONS[word]
    if len(word) < 3:
        return word
    word = _mark_consonants(word.removeprefix("'"))
    first, second = _find_regions(word)
    word = _drop_plural(_drop_possessive(word))
    if word not in _FINISHED:
        word = _drop_tense(word, first)
        if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:
            word = word[:-1] + "i"
        word = _derive(word, first)
        word = _derive_again(word, first, second)
        word = _drop_ending(word, second)
        word = _drop_last(word, first, second)
    return word.replace("Y", "y")


def _mark_consonants(word: str) -> str:
    letters = list(word)
    for place, letter in enumerate(letters):
        if letter == "y" and (place == 0 or letters[place - 1] in _VOWELS):
            letters[place] = "Y"
    return "".join(letters)


def _find_regions(word: str) -> tuple[int, int]:
    """Where they begin in which endings are dropped: past one syllable, and past two."""
    if found := re.match("gener|commun|arsen", word) or _PAST_A_SYLLABLE.match(word):
        second = _PAST_A_SYLLABLE.match(word, found.end())
        return found.end(), len(word) if second is None else second.end()
    return len(word), len(word)


def _find_ending(word: str, endings: dict[str, str]) -> str | None:
    """The longest one."""
    for length in range(min(len(word), 7), 0, -1):
        if word[-length:] in endings:
            return word[-length:]
    return None


def _has_vowel(part: str) -> bool:
    return not _VOWELS.isdisjoint(part)


def _ends_short(word: str) -> bool:
    """Whether it ends in a short syllable."""
    if len(word) == 2:
        return word[0] in _VOWELS and word[1] not in _VOWELS
    return (
        len(word) > 2
        and word[-1] not in _VOWELS
        and word[-1] not in "wxY"
        and word[-2] in _VOWELS
        and word[-3] not in _VOWELS
    )


def _drop_possessive(word: str) -> str:
    for ending in ("'s'", "'s", "'"):
        if word.endswith(ending):
            return word.removesuffix(ending)
    return word


def _drop_plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and _has_vowel(word[:-2]):
        return word[:-1]
    return word


def _drop_tense(word: str, first: int) -> str:
    for ending in ("eedly", "eed"):
        if word.endswith(ending):
            kept = len(word) - len(ending)
            return word[:kept] + "ee" if kept >= first else word
    for ending in ("ingly", "edly", "ing", "ed"):
        if word.endswith(ending):
            if not _has_vowel(kept_part := word.removesuffix(ending)):
                return word
            return _mend(kept_part, first)
    return word


def _mend(word: str, first: int) -> str:
    """What is left of a verb."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-2:] in ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"):
        return word[:-1]
    if len(word) == first and _ends_short(word):
        return word + "e"
    return word


def _derive(word: str, first: int) -> str:
    ending = _find_ending(word, _DERIVED)
    if ending is None or len(word) - len(ending) < first:
        return word
    kept = word.removesuffix(ending)
    if ending == "ogi" and not kept.endswith("l"):
        return word
    if ending == "li" and kept[-1:] not in tuple("cdeghkmnrt"):
        return word
    return kept + _DERIVED[ending]


def _derive_again(word: str, first: int, second: int) -> str:
    ending = _find_ending(word, _DERIVED_AGAIN)
    if ending is None or len(word) - len(ending) < (second if ending == "ative" else first):
        return word
    return word.removesuffix(ending) + _DERIVED_AGAIN[ending]


def _drop_ending(word: str, second: int) -> str:
    ending = _find_ending(word, _ENDINGS)
    if ending is None or len(word) - len(ending) < second:
        return word
    kept = word.removesuffix(ending)
    return word if ending == "ion" and not kept.endswith(("s", "t")) else kept


def _drop_last(word: str, first: int, second: int) -> str:
    kept = word[:-1]
    if word.endswith("e"):
        dropped = len(kept) >= second or (len(kept) >= first and not _ends_short(kept))
    else:
        dropped = word.endswith("ll") and len(kept) >= second
    return kept if dropped else word
