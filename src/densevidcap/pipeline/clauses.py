"""Captions taken apart and put together again: who or what, what is said of it, what to call it.

Captions are of a kind ("a man is driving a car"), so the parting of a sentence at "is", "are" or a
word in -ing does for most, and a sentence that it does not fit stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from densevidcap.data.content import list_content_words
from densevidcap.data.text import tokenise

Thing = tuple[str, ...]
"""The words of what is named, without an article."""

_ARTICLES = frozenset({"a", "an", "the"})
_PRONOUNS = {
    "he": "man boy guy male gentleman father actor",
    "she": "woman girl lady female mother actress",
    "they": "person people group someone somebody child baby kid couple crowd team band "
    "men women boys girls chef cook player singer dancer teacher doctor judge reporter host",
}
_PLURALS = frozenset({"people", "men", "women", "children"})
_PRONOUN_OF = {word: pronoun for pronoun, words in _PRONOUNS.items() for word in words.split()}


@dataclass(frozen=True)
class Clause:
    """Of "a man is driving a car": "a man" and "driving a car"."""

    subject: tuple[str, ...]
    rest: tuple[str, ...]
    """Empty if the sentence could not be parted."""
    plural: bool = False

    @property
    def thing(self) -> Thing:
        """What it is about."""
        return self.subject[1:] if self.subject[0] in _ARTICLES else self.subject

    @property
    def pronoun(self) -> str:
        fitting = (_PRONOUN_OF[word] for word in self.thing if word in _PRONOUN_OF)
        return "they" if self.plural else next(fitting, "it")


def part(sentence: str) -> Clause:
    words = tokenise(sentence)
    if words[0] == "there" and words[1:2] in (["is"], ["are"]) and len(words) > 2:
        words = words[2:]
    for place, word in enumerate(words[1:-1], start=1):
        if word in ("is", "are"):
            return Clause((*words[:place],), (*words[place + 1 :],), word == "are")
        if word.endswith("ing"):
            return Clause((*words[:place],), (*words[place:],), _is_plural(words[:place]))
    return Clause((*words,), ())


def _is_plural(subject: Sequence[str]) -> bool:
    """By its first noun: "two men in a car", but "man with glasses"."""
    if subject[0] in _ARTICLES:
        return False
    place = next((n for n, w in enumerate(subject) if not list_content_words(w)), len(subject))
    head = subject[max(0, place - 1)]
    return "and" in subject or head.endswith("s") or head in _PLURALS


def list_things(words: Sequence[str]) -> list[Thing]:
    """What is named with an article."""
    return [thing for word, thing in _follow(words) if word in _ARTICLES and thing]


def name_again(
    words: Sequence[str], named: Collection[Thing], subject: Thing | None = None
) -> list[str]:
    """The words with "the" before things named before, and "another" before a second of a kind."""
    said: set[Thing] = set() if subject is None else {subject}
    renamed = []
    for word, thing in _follow(words):
        if word in ("a", "an") and thing in said:
            renamed.append("another")
        else:
            renamed.append("the" if word in ("a", "an") and thing in named else word)
        if word in _ARTICLES:
            said.add(thing)
    return renamed


def _follow(words: Sequence[str]) -> list[tuple[str, Thing]]:
    """Each word with the thing that follows it: content words up to another, or one in -ing."""
    things: list[tuple[str, Thing]] = []
    thing: Thing = ()
    for word in reversed(words):
        things.append((word, thing))
        is_part = list_content_words(word) and not word.endswith("ing")
        thing = (word, *thing) if is_part else ()
    return things[::-1]
