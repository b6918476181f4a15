"""One short paragraph from dense captions, without a word about what no caption says.

Captions come by time. One that says little new is left out, and two about the same thing at the
same place become one sentence. Within a shot, what was named before is "he", "she", "they", "it"
or "the ..."; across shots nothing is taken to be the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from densevidcap.data.content import list_content_words
from densevidcap.pipeline.clauses import Clause, Thing, list_things, name_again, part
from densevidcap.records import Caption, DenseCaptions

MOST = 8
"""Captions that are told."""
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
    """The paragraph; empty if there are no captions."""
    sentences: list[str] = []
    for shot in _divide(_choose(captions)):
        first, *others = _retell(shot)
        sentences += [f"then {first}" if sentences else first, *others]
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)


def _choose(captions: DenseCaptions) -> list[Told]:
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


def _retell(shot: Sequence[Told]) -> Iterator[str]:
    """A shot's sentences; those about what the one before was about come first."""
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
        named |= {clause.thing, *list_things(words)}
        before = clause.thing
        yield " ".join(words)


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
    way = dict(zip(one.sequence.frames, one.sequence.regions, strict=True))
    places = zip(other.sequence.frames, other.sequence.regions, strict=True)
    same = [way[frame] == region for frame, region in places if frame in way]
    return sum(same) >= NEAR * max(1, len(same))


def _overlap(one: Caption, other: Caption) -> bool:
    return one.start < other.end and other.start < one.end
