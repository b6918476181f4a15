"""What a clip shows, by the Lexical-FCN: how probable each word is, and which things are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from densevidcap.data.lexicon import Lexicon, list_content_words
from densevidcap.types import FloatArray

NAMED = 0.3
"""From this probability on that people would name it, a thing is worth a sentence."""
NOUNS = ("NOUN", "PROPN")


@dataclass(frozen=True)
class Shown:
    """The lexicon's first W words in a clip with K region-sequences."""

    lexicon: Lexicon
    clip: FloatArray
    """(W,): P(the clip shows the word)."""
    sequences: FloatArray
    """(K, W): the highest probability along each sequence."""
    named: FloatArray
    """(W,): P(people would name the word), which is what the first means."""

    def find(self, word: str) -> int | None:
        """The word's index; None if nobody looked for it."""
        index = self.lexicon.index.get(word)
        return index if index is not None and index < len(self.clip) else None

    @cached_property
    def things(self) -> tuple[int, ...]:
        """The indices of N nouns that people would probably name, the most probable first."""
        order = np.argsort(-self.named, kind="stable").tolist()
        entries = self.lexicon.entries
        return tuple(i for i in order if self.named[i] >= NAMED and entries[i].pos in NOUNS)

    def place_things(self) -> list[tuple[int, str]]:
        """Each thing's word with the sequence that shows it best."""
        words = self.lexicon.words
        return [(int(self.sequences[:, thing].argmax()), words[thing]) for thing in self.things]

    def mark_things(self, sentences: Sequence[str]) -> FloatArray:
        """(S, N): how probable each thing is where the sentence names it, else 0."""
        columns = {self.lexicon.words[thing]: column for column, thing in enumerate(self.things)}
        marked = np.zeros((len(sentences), len(self.things)), np.float32)
        for row, sentence in enumerate(sentences):
            for word in list_content_words(sentence):
                if word in columns:
                    marked[row, columns[word]] = self.named[self.things[columns[word]]]
        return marked
