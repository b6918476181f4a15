"""METEOR 1.5 of English sentences, as the COCO caption code runs it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from densevidcap.metrics.meteor.alignment import (
    MODULES,
    Match,
    Sentence,
    SentenceMatcher,
    count_chunks,
)
from densevidcap.metrics.meteor.paraphrases import LONGEST, Phrase, load_paraphrases
from densevidcap.metrics.meteor.tables import Word, Words
from densevidcap.metrics.meteor.text import split_words

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
"""Recall against precision; how the number of chunks counts, and how much at most; content words
against function words. METEOR's own for English."""
WEIGHTS: Final = (1.0, 0.6, 0.8, 0.6)
"""Of a word that is matched exactly, by stem, by synonym, by paraphrase."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Side:
    """Words of sentences, or of their references."""

    length: int = 0
    functions: int = 0
    """Function words among them."""
    content_matches: tuple[int, ...] = (0,) * len(MODULES)
    """Content words that are matched, by module."""
    function_matches: tuple[int, ...] = (0,) * len(MODULES)

    @classmethod
    def count(cls, words: Sequence[Word], matched: Iterable[tuple[int, int, int]]) -> Side:
        """`matched`: the module of each match, and its words' begin and length."""
        content, functions = [0] * len(MODULES), [0] * len(MODULES)
        for module, begin, length in matched:
            for word in words[begin : begin + length]:
                (functions if word.is_function else content)[module] += 1
        among = sum(word.is_function for word in words)
        return cls(len(words), among, tuple(content), tuple(functions))

    def __add__(self, other: Side) -> Side:
        return Side(
            self.length + other.length,
            self.functions + other.functions,
            _add(self.content_matches, other.content_matches),
            _add(self.function_matches, other.function_matches),
        )

    @property
    def matches(self) -> int:
        return sum(self.content_matches) + sum(self.function_matches)

    @property
    def share(self) -> float:
        """How much of it is matched, with all weights. There must be a word."""
        matched = 0.0
        for count, weight in zip(self.content_matches, WEIGHTS, strict=True):
            matched += count * weight * DELTA
        for count, weight in zip(self.function_matches, WEIGHTS, strict=True):
            matched += count * weight * (1 - DELTA)
        return matched / (DELTA * (self.length - self.functions) + (1 - DELTA) * self.functions)


@dataclass(frozen=True)
class Statistics:
    """What METEOR keeps of sentences and their references."""

    said: Side = Side()
    there: Side = Side()
    chunks: int = 0

    @classmethod
    def count(cls, sentence: Sentence, reference: Sentence, matches: Sequence[Match]) -> Statistics:
        return cls(
            Side.count(sentence.words, ((each[0], each[1], each[2]) for each in matches)),
            Side.count(reference.words, ((each[0], each[3], each[4]) for each in matches)),
            count_chunks(matches),
        )

    def __add__(self, other: Statistics) -> Statistics:
        """Of both together, where a sentence that is its reference has no chunk."""
        chunks = 0 if other.is_whole else other.chunks
        return Statistics(self.said + other.said, self.there + other.there, self.chunks + chunks)

    @property
    def is_whole(self) -> bool:
        """Whether all words of both are matched, in one chunk."""
        sides = (self.said, self.there)
        return self.chunks == 1 and all(side.matches == side.length for side in sides)

    @property
    def sums(self) -> tuple[int, ...]:
        """What is added up over sentences, in the order in which `score_sums` takes it."""
        sides = (self.said, self.there)
        counts = (
            (side.length, side.functions, *side.content_matches, *side.function_matches)
            for side in sides
        )
        return (*chain.from_iterable(counts), 0 if self.is_whole else self.chunks)

    @property
    def score(self) -> float:
        if not self.said.matches:
            return 0.0
        mean = 1 / ((1 - ALPHA) / self.said.share + ALPHA / self.there.share)
        words = (self.said.matches + self.there.matches) / 2
        scattered = 0.0 if self.is_whole else self.chunks / words
        return max(mean * (1 - GAMMA * math.pow(scattered, BETA)), 0.0)


def score_sums(sums: Array) -> Array:
    """(N,): METEOR of N sets of sentences, each by the sums of its sentences (N, S)."""
    *sides, chunks = np.split(sums.T, [sums.shape[1] // 2, sums.shape[1] - 1])
    matches, shares = [], []
    for length, functions, *matched in sides:
        content, function = np.split(np.array(matched), 2)
        weights = np.array(WEIGHTS)
        weighted = DELTA * (weights @ content) + (1 - DELTA) * (weights @ function)
        words = DELTA * (length - functions) + (1 - DELTA) * functions
        shares.append(weighted / np.maximum(words, 1e-9))
        matches.append(np.sum(matched, axis=0))
    some = matches[0] > 0
    said, there = (np.where(some, share, 1) for share in shares)
    mean = 1 / ((1 - ALPHA) / said + ALPHA / there)
    scattered = chunks[0] / np.where(some, sum(matches) / 2, 1)
    score = np.maximum(mean * (1 - GAMMA * scattered**BETA), 0)
    return np.asarray(np.where(some, score, 0))


class Meteor:
    """Matches sentences with references one by one, and scores any selection of matches."""

    def __init__(self) -> None:
        self._words = Words()
        self._paraphrases = load_paraphrases()
        self._phrases: dict[str, Phrase] = {}
        self._sentences: dict[str, Sentence] = {}

    def learn(self, sentences: Iterable[str]) -> None:
        """Prepare tokenised sentences or references: much faster for many at once."""
        new = {
            sentence: split_words(sentence, self._words.abbreviations)
            for sentence in sentences
            if sentence not in self._sentences
        }
        if new:
            self._sentences |= zip(new, self._prepare([*new.values()]), strict=True)

    def match(self, sentence: str, references: Sequence[str]) -> Statistics:
        """The statistics of a tokenised sentence against that reference which it fits best."""
        self.learn((sentence, *references))
        matcher = SentenceMatcher(self._sentences[sentence])
        counted = []
        for reference in dict.fromkeys(references):
            there = self._sentences[reference]
            counted.append(Statistics.count(matcher.sentence, there, matcher.align(there)))
        return max(counted, key=lambda statistics: statistics.score)

    def score(self, matches: Sequence[Statistics]) -> tuple[float, list[float]]:
        """METEOR of all matches together, and of each."""
        return sum(matches, Statistics()).score, [match.score for match in matches]

    def resample(self, matches: Sequence[Statistics], draws: Array) -> Array:
        """(N,): METEOR of N draws (N, M), each how often every one of the M matches is in it."""
        return score_sums(draws @ np.array([match.sums for match in matches], float))

    def close(self) -> None:
        """Nothing runs on."""

    def _prepare(self, sentences: Sequence[Sequence[str]]) -> list[Sentence]:
        spans = [list(_list_phrases(words)) for words in sentences]
        texts = dict.fromkeys(text for of_sentence in spans for *_, text in of_sentence)
        new = [text for text in texts if text not in self._phrases]
        found = self._paraphrases.find(new)
        self._phrases |= {
            text: phrase for text, phrase in zip(new, found, strict=True) if phrase is not None
        }
        return [
            self._prepare_one(words, of_sentence)
            for words, of_sentence in zip(sentences, spans, strict=True)
        ]

    def _prepare_one(self, words: Sequence[str], spans: Iterable[tuple[int, int, str]]) -> Sentence:
        phrases: dict[int, tuple[int, list[int]]] = {}
        paraphrased = []
        for begin, length, text in spans:
            if (phrase := self._phrases.get(text)) is not None:
                phrases.setdefault(phrase.number, (length, []))[1].append(begin)
                if phrase.paraphrases:
                    paraphrased.append((begin, length, phrase.paraphrases))
        return Sentence([self._words[word] for word in words], phrases, paraphrased)


def _list_phrases(words: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Begin, length and text of all neighbouring words that could be in the table."""
    for begin in range(len(words)):
        text = ""
        for length, word in enumerate(words[begin : begin + LONGEST], 1):
            text = f"{text} {word}" if text else word
            yield begin, length, text


def _add(these: tuple[int, ...], those: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(sum, zip(these, those, strict=True)))
