"""What sentences say that the references say too, word by word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from densevidcap.data.lexicon import list_content_words


@dataclass(frozen=True)
class ContentWords:
    """Means over clips."""

    precision: float
    """The share of the content words said, repeated ones included, that a reference has."""
    said: float
    """Different content words in a clip's sentences together."""
    found: float
    """Those of them that a reference has: the coverage."""


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
