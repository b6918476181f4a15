"""A short text from dense captions, without a word about what no caption says.

Captions come by time. One that says little new is left out, and two about the same thing at the
same place become one sentence. Within a shot, what was named before is "he", "she", "they", "it"
or "the ..."; across shots nothing is taken to be the same. A clip has one paragraph, a film one for
each chapter, with its time, in which every scene is told. No sentence comes twice.

Captions are of a kind ("a man is driving a car"), so the parting of a sentence at "is", "are" or a
word in -ing does for most, and a sentence that it does not fit stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from densevidcap.data.lexicon import list_content_words
from densevidcap.data.text import time_code, tokenise
from densevidcap.pipeline.outline import group_captions
from densevidcap.types import Caption, DenseCaptions

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


MOST = 8
"""Captions of a clip, or of a scene, that are told."""
NEW = 0.5
"""Share of what a caption says of its subject that must not have been told."""
LONGEST = 16
"""Words of a sentence that is made of two."""
NEAR = 0.5
"""Share of the frames of two captions in which their regions must be the same."""


class Told(NamedTuple):
    """A caption that is worth telling."""

    caption: Caption
    clause: Clause


def tell(captions: DenseCaptions) -> str:
    """The paragraphs, a line each; empty if there are no captions."""
    said: set[str] = set()
    if not captions.scenes:
        return " ".join(_tell_scene(captions, said, "then "))
    paragraphs = []
    chapters = captions.chapters or ((0.0, captions.duration),)
    for (start, end), own in zip(chapters, group_captions(captions, chapters), strict=True):
        scenes = [scene for scene in captions.scenes if start <= scene[0] < end] or [(start, end)]
        sentences = [
            sentence
            for of_scene in group_captions(own, scenes)
            for sentence in _tell_scene(of_scene, said)
        ]
        if sentences:
            paragraphs.append(f"{time_code(start)} {' '.join(sentences)}")
    return "\n".join(paragraphs)


def _tell_scene(captions: Iterable[Caption], said: set[str], joint: str = "") -> list[str]:
    """Its sentences, none of which was `said`; `joint` is before those of all shots but the first.

    If all that there is to tell was told, the first caption that was not said in its own words is.
    """
    told: list[str] = []
    ranked = list(captions)
    for shot in _divide(_choose(ranked)):
        for number, sentence in enumerate(_retell(shot, said)):
            told.append(f"{joint}{sentence}" if told and number == 0 else sentence)
    for caption in ranked if not told else ():
        plain = " ".join(tokenise(caption.text))
        if plain and plain not in said:
            said.add(plain)
            told.append(plain)
            break
    return [f"{sentence[0].upper()}{sentence[1:]}." for sentence in told]


def _choose(captions: Sequence[Caption]) -> list[Told]:
    """The best captions that say something new of their time, in the order of time."""
    chosen: list[Told] = []
    for caption in captions:
        clause = part(caption.text)
        beside = (each.caption for each in chosen if _overlap(each.caption, caption))
        said = {word for other in beside for word in list_content_words(other.text)}
        words = list_content_words(" ".join(clause.rest or clause.subject))
        if sum(word not in said for word in words) >= NEW * max(1, len(words)):
            chosen.append(Told(caption, clause))
        if len(chosen) == MOST:
            break
    return sorted(chosen, key=lambda told: told.caption.start)


def _divide(told: Sequence[Told]) -> Iterator[list[Told]]:
    """Runs of captions, each of which overlaps the one before in time."""
    run: list[Told] = []
    for each in told:
        if run and not _overlap(run[-1].caption, each.caption):
            yield run
            run = []
        run.append(each)
    if run:
        yield run


def _retell(shot: Sequence[Told], said: set[str]) -> Iterator[str]:
    """A shot's sentences; those about what the one before was about come first.

    What was `said` is left out, as if nobody had heard of it here.
    """
    named: set[Thing] = set()
    before: Thing | None = None
    waiting = list(shot)
    while waiting:
        told = next((each for each in waiting if each.clause.thing == before), waiting[0])
        waiting.remove(told)
        clause = told.clause
        words = _say(clause, named, clause.thing == before)
        for other in waiting:
            if _belong_together(told, other):
                waiting.remove(other)
                rest = name_again(other.clause.rest, named | {*list_things(words)}, clause.thing)
                words += ["and", *rest]
                break
        sentence = " ".join(words)
        if sentence in said:
            continue
        said.add(sentence)
        named |= {clause.thing, *list_things(words)}
        before = clause.thing
        yield sentence


def _say(clause: Clause, named: set[Thing], again: bool) -> list[str]:
    """The clause's words; `again` if the sentence before was about the same thing."""
    if not clause.rest:
        return name_again(clause.subject, named)
    pronoun = clause.pronoun
    subject = [pronoun] if again else name_again(clause.subject, named)
    plural = pronoun == "they" if again else clause.plural
    return [*subject, "are" if plural else "is", *name_again(clause.rest, named, clause.thing)]


def _belong_together(one: Told, other: Told) -> bool:
    """Whether two captions are about the same thing at the same place, and short enough."""
    length = len(one.clause.subject) + len(one.clause.rest) + len(other.clause.rest) + 2
    alike = one.clause.thing == other.clause.thing and one.clause.plural == other.clause.plural
    parted = bool(one.clause.rest and other.clause.rest)
    return parted and alike and length <= LONGEST and _are_near(one.caption, other.caption)


def _are_near(one: Caption, other: Caption) -> bool:
    way = dict(zip(one.sequence.times, one.sequence.regions, strict=True))
    places = zip(other.sequence.times, other.sequence.regions, strict=True)
    same = [way[time] == region for time, region in places if time in way]
    return sum(same) >= NEAR * max(1, len(same))


def _overlap(one: Caption, other: Caption) -> bool:
    return one.start < other.end and other.start < one.end
