"""A sentence as a person should read it, from one as the captioner says it.

Captioners repeat what people wrote, with what they wrote about people's looks and origin, and they
guess whether someone is a man or a woman. Neither is said here unless it is asked for, or seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from densevidcap.config import WordingConfig
from densevidcap.data.lexicon import FUNCTION_WORDS, is_content_word, list_content_words
from densevidcap.data.text import list_joined, tokenise

if TYPE_CHECKING:
    from densevidcap.data.phrases import Phrases

MALE: Mapping[str, str] = {
    "man": "person",
    "men": "people",
    "guy": "person",
    "guys": "people",
    "gentleman": "person",
    "gentlemen": "people",
    "male": "person",
    "males": "people",
    "boy": "child",
    "boys": "children",
    "actor": "person",
    "father": "parent",
    "dad": "parent",
}
FEMALE: Mapping[str, str] = {
    "woman": "person",
    "women": "people",
    "lady": "person",
    "ladies": "people",
    "female": "person",
    "females": "people",
    "girl": "child",
    "girls": "children",
    "actress": "person",
    "mother": "parent",
    "mom": "parent",
}
"""Words of gender, to what is said instead where nothing shows it."""
OWN = {"his": "their", "her": "their", "him": "them", "he": "they", "she": "they"}
PEOPLE = frozenset({*MALE, *FEMALE, *MALE.values(), *FEMALE.values()}).union(
    tokenise("singer dancer player chef cook reporter model baby kid kids teen teens teenager"),
    tokenise("couple group student students teacher host anchor athlete wrestler wrestlers"),
)
LOOKS: frozenset[str] = frozenset[str]().union(
    tokenise("black white brown asian african indian american chinese japanese korean british"),
    tokenise("english russian mexican spanish italian french german arab muslim jewish hispanic"),
    tokenise("latino latina caucasian ethnic foreign dark light skinned toned"),
    tokenise("blond blonde brunette redheaded redhead haired bald bearded fat skinny chubby"),
    tokenise("overweight thin slim beautiful pretty gorgeous attractive handsome hot sexy ugly"),
    tokenise("cute busty"),
)
"""What tells of a person's looks or origin, where it stands before a word for people."""

Evidence = Callable[[str], float]
"""P(the clip shows the word)."""


def reword(sentence: str, evidence: Evidence, config: WordingConfig) -> str:
    """The sentence as it is shown."""
    words = sentence.split()
    if not config.looks:
        words = _drop_looks(words)
    if config.gender == "seen":
        words = _neutralise(words, evidence)
    if config.topics == "seen":
        words = _drop_topic(words, evidence)
    words = _mend_articles(words)
    text = " ".join(words)
    return text[:1].upper() + text[1:] + "." if config.case == "sentence" else text


def list_told(text: str, config: WordingConfig) -> frozenset[str]:
    """What it tells: its content words without their endings, but of people only that they are
    people, unless gender is told as it is said. A man who drives is someone who is driving."""
    same = _ANYONE if config.gender == "seen" else {}
    return frozenset(_stem(same.get(each, each)) for each in list_content_words(text))


_ANYONE = {**MALE, **FEMALE, "someone": "person", "somebody": "person"}
_ENDINGS = re.compile(r"(?<=...)(ers|er|ing|ed|(?:(?<=[sxz])|(?<=[cs]h))es|(?<!s)s)$")


def _stem(word: str) -> str:
    """What "drive", "drives", "driving" and "drivers" have in common; a stem need not be a word."""
    bare = _ENDINGS.sub("", word).removesuffix("e")
    return bare[:-1] if bare != word and bare[-2:-1] == bare[-1:] != "s" else bare


def _drop_looks(words: list[str]) -> list[str]:
    """Without adjectives of looks and origin before people: "a young black man" is a young man."""
    kept: list[str] = []
    is_of_people = False
    for each in reversed(words):
        if each in LOOKS and is_of_people:
            continue
        kept.append(each)
        is_of_people = each in PEOPLE or (is_of_people and each in {"young", "old", "little"})
    return kept[::-1]


def _neutralise(words: list[str], evidence: Evidence) -> list[str]:
    seen = [{name for name in group if name in words} for group in (MALE, FEMALE)]
    male, female = (max(evidence(name) for name in group) for group in (MALE, FEMALE))
    doubtful = [
        bool(said) and own < (SHOWN if own >= other else SHOWN_LESS)
        for said, own, other in zip(seen, (male, female), (female, male), strict=True)
    ]
    instead: dict[str, str] = {}
    for is_doubtful, group in zip(doubtful, (MALE, FEMALE), strict=True):
        if is_doubtful:
            instead |= group
    if instead and not (seen[0] and not doubtful[0]) and not (seen[1] and not doubtful[1]):
        instead |= OWN
    return [instead.get(each, each) for each in words]


_NOBODY = frozenset(
    tokenise("person people man men woman women guy guys lady ladies child children boy boys")
    + tokenise("girl girls someone somebody something everything thing things group young old")
)
_TOPIC = re.compile(r"(?P<kept>.*\b(talk|talks|talking|speak|speaks|speaking)) about (?P<topic>.+)")


def _drop_topic(words: list[str], evidence: Evidence) -> list[str]:
    """Without what people talk about, which is heard, unless the clip shows it.

    Somebody is never shown to be a topic: "a man is talking about a person" is a man who talks.
    """
    found = _TOPIC.fullmatch(" ".join(words))
    if found is None:
        return words
    named = {each for each in found["topic"].split() if is_content_word(each)} - _NOBODY
    is_seen = bool(named) and all(evidence(each) >= SHOWN for each in named)
    return words if is_seen else found["kept"].split()


SHOWN = 0.6
"""From this probability on a gender or a topic has evidence: three of four are right."""
SHOWN_LESS = 0.75
"""The same of the gender that the clip shows less, which often is a mistake for the other."""
COUNTS = {"two", "three", "four", "five", "several", "many", "some", "people", "men", "women"}


def _mend_articles(words: list[str]) -> list[str]:
    mended: list[str] = []
    for place, each in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        if each in {"a", "an"}:
            if following in COUNTS or following in {"a", "an", "the"}:
                continue
            is_vowel = re.match(r"[aei]|o(?!ne)|u(?!ni|se)|hour", following) is not None
            mended.append("an" if is_vowel else "a")
        else:
            mended.append(each)
    return mended


def is_absurd(sentence: str, phrases: Phrases, strict: bool = True) -> bool:
    """Whether nobody would say so: a word comes twice, or two that never met before meet.

    Strictly, also if they never met with an article between, or if verbs and who they are of do not
    agree.
    """
    words = sentence.split() or [""]
    # "Two dogs are playing with a dog."
    told = [each.removesuffix("s") for each in words if is_content_word(each)]
    if len(set(told)) < len(told) and not {"another", "other"} & set(words):
        return True
    if any(first == second for first, second in pairwise(words)):
        return True
    # "In a man is talking about a car."
    if words[0] in DANGLING - {"a", "an", "the"}:
        return True
    # "A cartoon with it": nothing was named before.
    if words[-1] in POINTING:
        return True
    if re.search(r"\b(doing|having) (a |an |the |another )?(\w+ )?(" + _JOINED + r")\b", sentence):
        return True
    # "A man is doing a paper", where people do tricks, or makeup.
    for done in re.findall(rf"\bdoing (?:{_OWNER}) (\w+)", sentence):
        if not any(phrases.knows(f"doing {done}{ending}") for ending in ("", "s")):
            return True
    if strict and any(each.search(sentence) for each in _DISAGREEING):
        return True
    # "A man is playing a hockey."
    if strict and not all(map(phrases.joins, list_joined(words))):
        return True
    return any(not phrases.knows(" ".join(pair)) for pair in pairwise(words))


_MANY = "men|women|people|girls|boys|kids|children|guys|ladies|players"
_ONE = "man|woman|person|girl|boy|kid|child|guy|lady|player"
_DISAGREEING = (
    # "The women is talking", but "a group of people is dancing".
    re.compile(rf"(?<!of )\b({_MANY}) (is|was)\b"),
    # "The man are talking", but "a boy and a man are talking".
    re.compile(rf"^(?!.* and ).*\b({_ONE}) (are|were)\b"),
    # "There is a man is cooking", but "there is a man who is cooking".
    re.compile(r"\bthere (is|are) ((?!who|that|which|and|while|as)\w+ )*(is|are)\b"),
    # "A man is about the food", as a video is, but "a man is about to eat".
    re.compile(rf"\b({_ONE}|{_MANY}) (is|are) about (?!to\b)"),
)


POINTING = frozenset({"it", "them", "him", "her", "this", "these", "those"})
_OWNER = "a|an|the|some|his|her|their"
_JOINED = "|".join(sorted(PEOPLE))
DANGLING = FUNCTION_WORDS | {"a", "an", "the", "of", "about", "for", "from", "by", "into"}
"""A sentence that ends in one of these breaks off: "a man is talking about"."""


def breaks_off(sentence: str) -> bool:
    return sentence.rpartition(" ")[2] in DANGLING
