"""A film in a few lines: what its chapters are called, and what it shows, in sentences it has."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from densevidcap.data.lexicon import list_content_words
from densevidcap.types import Caption, DenseCaptions, Span

UNTITLED = "Nothing that the model knows"
"""The name of a chapter without sentences."""
MOST = 6
"""Sentences of a summary."""
COMPARED = 100
"""Sentences of a chapter, of the best, that may be its title: each is compared with all others."""
SHARED = 0.5
"""Share of a sentence's content words that another of the summary may have too."""


class Chapter(NamedTuple):
    start: float
    """Seconds."""
    end: float
    title: str
    caption: Caption | None
    """The one that it is called by."""


def list_chapters(captions: DenseCaptions) -> list[Chapter]:
    """By time; a clip without chapters is a single one. No title comes twice.

    A chapter is called by a sentence of its own that is sure, and says what its others say.
    """
    spans = captions.chapters or ((0.0, captions.duration),)
    taken: set[str] = set()
    chapters = []
    for span, own in zip(spans, group_captions(captions, spans), strict=True):
        able = own[:COMPARED]
        worth = _speak_for(able)
        order = sorted(range(len(able)), key=worth.__getitem__, reverse=True)
        best = next((able[n] for n in order if _entitle(able[n]) not in taken), None)
        title = UNTITLED if best is None else _entitle(best)
        taken.add(title)
        chapters.append(Chapter(*span, title, best))
    return chapters


def summarise(captions: DenseCaptions) -> str:
    """The surest sentences of a film that tell different things, by time; empty for other clips."""
    if not captions.scenes:
        return ""
    chosen: list[Caption] = []
    for caption in sorted(captions, key=_weigh, reverse=True):
        words = set(list_content_words(caption.text))
        shared = (len(words & {*list_content_words(other.text)}) for other in chosen)
        if words and max(shared, default=0) <= SHARED * len(words):
            chosen.append(caption)
        if len(chosen) == MOST:
            break
    ordered = sorted(chosen, key=lambda caption: caption.start)
    return " ".join(_end(caption.text) for caption in ordered)


def group_captions(captions: Iterable[Caption], spans: Sequence[Span]) -> list[list[Caption]]:
    """Those of each span, in the order in which they are given: each is where its middle is.

    None is lost: what a hand put before the first span or after the last is theirs.
    """
    starts = [start for start, _ in spans]
    groups: list[list[Caption]] = [[] for _ in spans]
    for caption in captions:
        place = bisect_right(starts, (caption.start + caption.end) / 2)
        groups[max(0, place - 1)].append(caption)
    return groups


def _weigh(caption: Caption) -> float:
    return caption.confidence * math.sqrt(caption.end - caption.start)


def _speak_for(captions: Sequence[Caption]) -> list[float]:
    """How sure each is, times the seconds of all that say the same, by the words in common."""
    words = [{*list_content_words(caption.text)} for caption in captions]
    worth = []
    for caption, own in zip(captions, words, strict=True):
        seconds = 0.0
        for other, theirs in zip(captions, words, strict=True):
            shared = len(own & theirs) / max(1, len(own | theirs))
            seconds += (1.0 if other is caption else shared) * (other.end - other.start)
        worth.append(caption.confidence * seconds)
    return worth


def _entitle(caption: Caption) -> str:
    text = caption.text.strip().rstrip(".")
    return text[:1].upper() + text[1:]


def _end(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text[:1].upper()}{text[1:]}."
