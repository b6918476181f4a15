"""Phrases of captions, words and pairs of words, and how rare each is in a corpus; and which words
meet with an article between them, as in "playing the guitar"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from math import log, sqrt
from pathlib import Path

from densevidcap.data.text import list_joined, tokenise
from densevidcap.data.text_files import read_json
from densevidcap.errors import CorpusError
from densevidcap.model_folder import write_json

LONGEST = 2
"""Words of the longest phrases: longer ones are rarely shared, and by chance."""
_LEAST = 2
"""Clips that a phrase is kept from on; any other counts as one of a single clip."""


class Phrases:
    """The rarity of phrases in the captions of a set of clips."""

    def __init__(
        self, clips: int, counts: Mapping[str, int], joined: Set[str] | None = None
    ) -> None:
        """`joined` are pairs of words with any article between, if these were counted."""
        self._clips, self._counts, self._joined = clips, counts, joined

    @classmethod
    def count(cls, captions: Iterable[Iterable[str]]) -> Phrases:
        """Of each clip's captions."""
        counts, joined = Counter[str](), Counter[str]()
        clips = 0
        for of_clip in captions:
            told = [tokenise(caption) for caption in of_clip]
            counts.update({phrase for words in told for phrase in _list(words)})
            joined.update({pair for words in told for pair in list_joined(words)})
            clips += 1
        kept = {p: count for p, count in sorted(counts.items()) if count >= _LEAST}
        return cls(clips, kept, {pair for pair, count in joined.items() if count >= _LEAST})

    def rarity(self, phrase: str) -> float:
        """CIDEr's weight: 0 if every clip has it, more the fewer do."""
        return log(max(1, self._clips) / self._counts.get(phrase, 1))

    def knows(self, phrase: str) -> bool:
        """Whether the captions of more than one clip have it."""
        return phrase in self._counts

    def joins(self, pair: str) -> bool:
        """Whether the captions of more than one clip have the two words with an article between; of
        phrases that were kept without these pairs, any may be."""
        return self._joined is None or pair in self._joined

    def known_by(self, clips: int) -> list[str]:
        """Those that the captions of at least so many clips have."""
        return [phrase for phrase, count in self._counts.items() if count >= clips]

    def weigh(self, sentence: str) -> dict[str, float]:
        """CIDEr's vector of a sentence: its phrases by count and rarity, to length 1 by size."""
        words, vector = tokenise(sentence), dict[str, float]()
        for size in range(1, LONGEST + 1):
            counts = Counter(list_phrases(words, size))
            weights = {phrase: n * self.rarity(phrase) for phrase, n in counts.items()}
            length = sqrt(sum(weight**2 for weight in weights.values()))
            if length > 0:
                vector |= {phrase: weight / length for phrase, weight in weights.items()}
        return vector

    def save(self, path: Path) -> None:
        joined = {} if self._joined is None else {"joined": sorted(self._joined)}
        write_json(path, {"clips": self._clips, "phrases": dict(self._counts), **joined})

    @classmethod
    def load(cls, path: Path) -> Phrases:
        try:
            content = read_json(path)
            counts = {str(phrase): int(count) for phrase, count in content["phrases"].items()}
            joined = content.get("joined")
            pairs = None if joined is None else frozenset(map(str, joined))
            return cls(int(content["clips"]), counts, pairs)
        except (OSError, KeyError, TypeError, ValueError, AttributeError, CorpusError):
            raise CorpusError(f"{path}: not saved phrases; copy the whole folder") from None


def list_phrases(words: Sequence[str], size: int) -> list[str]:
    """Every run of `size` words."""
    return [" ".join(words[start : start + size]) for start in range(len(words) - size + 1)]


def _list(words: Sequence[str]) -> Iterator[str]:
    for size in range(1, LONGEST + 1):
        yield from list_phrases(words, size)
