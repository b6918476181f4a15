"""What sentences say that the references say too, word by word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from densevidcap.data.lexicon import FUNCTION_WORDS
from densevidcap.data.text import tokenise

_LITTLE_WORDS = FUNCTION_WORDS.union(
    tokenise("a an the this that these those some another other each"),
    tokenise("i you he she it we they him her them his its their there who which what"),
    tokenise("of for from by into onto down up out off over under through around about as near"),
    tokenise("or but while then so not"),
    tokenise(
        "be been being was were am has have had having do does did doing can could will would"
    ),
)


@dataclass(frozen=True)
class ContentWords:
    """Means over clips."""

    precision: float
    """The share of the content words said, repeated ones included, that a reference has."""
    said: float
    """Different content words in a clip's sentences together."""
    found: float
    """Those of them that a reference has: the coverage."""


def list_content_words(sentence: str) -> list[str]:
    """The sentence's words but articles, pronouns, prepositions, conjunctions and auxiliaries."""
    return [word for word in tokenise(sentence) if word not in _LITTLE_WORDS]


def compare_content(
    sentences: Mapping[str, Sequence[str]], references: Mapping[str, Sequence[str]]
) -> ContentWords:
    """Each clip's sentences against its references. A clip that says nothing is never right."""
    precision, said, found = 0.0, 0, 0
    for clip, of_clip in sentences.items():
        words = _list_all(of_clip)
        known = set(_list_all(references[clip]))
        precision += sum(word in known for word in words) / max(1, len(words))
        said += len(set(words))
        found += len(set(words) & known)
    clips = len(sentences)
    return ContentWords(precision / clips, said / clips, found / clips)


def _list_all(sentences: Iterable[str]) -> list[str]:
    return [word for sentence in sentences for word in list_content_words(sentence)]
