"""Sentences as a single line that every format can hold."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from densevidcap.data.text_files import read_json, replace_text
from densevidcap.errors import CorpusError
from densevidcap.hidden import replace_hidden

# Letters and digits of any script; an apostrophe or hyphen between them joins ("don't", "t-shirt").
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")


def tokenise(sentence: str) -> list[str]:
    """The words of a sentence, in lower case and without punctuation."""
    return _WORD.findall(sentence.lower().replace("’", "'"))


ARTICLES = frozenset({"a", "an", "the", "his", "her", "their", "its", "some"})


def list_joined(words: Sequence[str]) -> list[str]:
    """The two words on either side of each article."""
    around = zip(words, words[1:], words[2:], strict=False)
    return [f"{first} {second}" for first, between, second in around if between in ARTICLES]


def match_words(ours: Sequence[str], theirs: Sequence[str]) -> tuple[list[int], list[int]]:
    """The places of the words that both lists have: in the first, and in the second."""
    place = {word: number for number, word in enumerate(theirs)}
    shared = [(here, place[word]) for here, word in enumerate(ours) if word in place]
    return [here for here, _ in shared], [there for _, there in shared]


class Vocabulary:
    """The words a language model can say, each with its number; the first four are signs."""

    SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>")
    PAD, BOS, EOS, UNK = range(4)

    def __init__(self, words: Iterable[str]) -> None:
        self.words: tuple[str, ...] = (*self.SPECIAL_TOKENS, *words)
        self._index = {word: index for index, word in enumerate(self.words)}
        if len(self._index) < len(self.words):
            raise ValueError("a vocabulary's words must differ from each other and from its signs")

    @classmethod
    def build(cls, sentences: Iterable[str], min_count: int = 1) -> Vocabulary:
        """The words that occur at least `min_count` times, by falling count, then by spelling."""
        counts = Counter(word for sentence in sentences for word in tokenise(sentence))
        kept = (word for word, count in counts.items() if count >= min_count)
        return cls(sorted(kept, key=lambda word: (-counts[word], word)))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._index

    def encode(self, sentence: str) -> list[int]:
        """`<bos>`, a number for each word (`<unk>` for strangers), `<eos>`."""
        words = (self._index.get(word, self.UNK) for word in tokenise(sentence))
        return [self.BOS, *words, self.EOS]

    def decode(self, numbers: Sequence[int]) -> str:
        """The sentence up to the first `<eos>`, without `<bos>` and `<pad>`."""
        words = []
        for number in numbers:
            if number == self.EOS:
                break
            if number not in (self.PAD, self.BOS):
                words.append(self.words[number])
        return " ".join(words)

    def save(self, path: Path | str) -> None:
        with replace_text(Path(path)) as stream:
            json.dump({"words": self.words[len(self.SPECIAL_TOKENS) :]}, stream, ensure_ascii=False)

    @classmethod
    def load(cls, path: Path | str) -> Vocabulary:
        content = read_json(Path(path))
        try:
            return cls(content["words"])
        except (KeyError, TypeError, ValueError) as error:
            raise CorpusError(f"{path}: not a saved vocabulary; build it again") from error


def one_line(text: str) -> str:
    """The text with single spaces for white space, and the replacement sign for what hides."""
    return replace_hidden(" ".join(text.split()))


def time_code(seconds: float) -> str:
    """hh:mm:ss of the whole seconds that are over."""
    return format_clock(int(seconds) * 1000)[:-4]


def format_clock(milliseconds: int, point: str = ".") -> str:
    """hh:mm:ss.mmm"""
    seconds, milliseconds = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}{point}{milliseconds:03}"


def name_span(start: float, end: float, is_film: bool) -> str:
    """In seconds and their tenths; in time codes where there are many of them."""
    if is_film:
        return f"{time_code(start)}–{time_code(end)}"
    return f"{start:.1f}–{end:.1f} s"
