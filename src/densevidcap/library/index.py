"""What `find` looks things up in: one SQLite file, made of a library and made again at any time.

Sentences are in a full-text index (FTS5, English stems). Words that regions show are planes: for
each word a byte a segment, how probable it is there, so that a question reads only its own words.
Only clips that are new or changed are read.
"""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from densevidcap.errors import CorpusError, DenseVidCapWarning
from densevidcap.library.shown import WordList, from_byte, to_byte
from densevidcap.library.store import INDEX, Library
from densevidcap.types import DenseCaptions, FloatArray, UInt8Array

VERSION = 2
BLOCK = 1024
"""Segments of one row of a plane."""
TOGETHER = 256
"""Clips that are taken in at once: their planes are written once, and a kill costs them alone."""

_SCHEMA = """
CREATE TABLE clips (
    id INTEGER PRIMARY KEY, identity TEXT UNIQUE, stamp TEXT, text TEXT, confidence REAL,
    sentences INTEGER, duration REAL, width INTEGER, height INTEGER, corrected INTEGER, made REAL
);
CREATE TABLE segments (id INTEGER PRIMARY KEY, clip INTEGER, number INTEGER, start REAL, stop REAL);
CREATE INDEX segments_of_clip ON segments (clip);
CREATE VIRTUAL TABLE texts USING fts5 (said, unsaid, tokenize = 'porter unicode61');
CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT UNIQUE);
CREATE VIRTUAL TABLE stems USING fts5 (word, tokenize = 'porter unicode61');
CREATE TABLE planes (block INTEGER, word INTEGER, likely BLOB);
CREATE UNIQUE INDEX planes_of_word ON planes (word, block);
CREATE INDEX planes_of_block ON planes (block);
CREATE TABLE sentences (id INTEGER PRIMARY KEY, segment INTEGER, text TEXT, meaning BLOB);
CREATE INDEX sentences_of_segment ON sentences (segment);
"""

Embed = Callable[[Sequence[str]], FloatArray]
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SegmentRow:
    """A segment of a clip, as the index knows it."""

    identity: str
    number: int
    start: float
    end: float


@dataclass(frozen=True)
class Card:
    """A clip at a glance."""

    identity: str
    text: str
    """Its first sentence; empty if nothing is said of it."""
    confidence: float
    """Of that sentence."""
    sentences: int
    duration: float
    """Seconds."""
    width: int
    height: int
    corrected: int
    """Sentences that a person approved of, changed or left out."""
    made: float
    """Seconds since 1970 when it was captioned."""


class Index:
    """Numbers of segments begin at 1 and are not those of the clips' own."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._stemmer = _Stemmer()

    def update(
        self, library: Library, embed: Embed | None, advance: Callable[[], None] = lambda: None
    ) -> int:
        """Take in what is new or changed, let go what is gone; return how many clips that were."""
        known = dict(self._db.execute("SELECT identity, stamp FROM clips"))
        now = {each: _stamp(library, each) for each in library.identities()}
        gone = [each for each, stamp in known.items() if now.get(each) != stamp]
        new = [each for each, stamp in now.items() if known.get(each) != stamp]
        with self._db:
            for identity in gone:
                self._remove(identity)
        lexica: dict[str, _Numbered] = {}
        for start in range(0, len(new), TOGETHER):
            with self._db:
                shown: dict[int, tuple[Ids, UInt8Array]] = {}
                for identity in new[start : start + TOGETHER]:
                    try:
                        shown |= self._add(library, identity, now[identity], lexica)
                    except CorpusError as error:
                        # One that is damaged must not be in the way of the others.
                        warnings.warn(f"not searched: {error}", DenseVidCapWarning, stacklevel=2)
                    advance()
                self._write_planes(shown)
        if embed is not None:
            self._embed(embed)
        return len(gone) + len(new)

    def _remove(self, identity: str) -> None:
        (clip,) = self._db.execute(
            "SELECT id FROM clips WHERE identity = ?", (identity,)
        ).fetchone()
        for (segment,) in self._db.execute("SELECT id FROM segments WHERE clip = ?", (clip,)):
            self._db.execute("DELETE FROM texts WHERE rowid = ?", (segment,))
            self._db.execute("DELETE FROM sentences WHERE segment = ?", (segment,))
        self._db.execute("DELETE FROM segments WHERE clip = ?", (clip,))
        self._db.execute("DELETE FROM clips WHERE id = ?", (clip,))

    def _add(
        self, library: Library, identity: str, stamp: str, lexica: dict[str, _Numbered]
    ) -> dict[int, tuple[Ids, UInt8Array]]:
        """The words of each of the clip's segments, by number, and how probable they are."""
        captions, record = library.captions(identity), library.read_words(identity)
        best = next(iter(captions), None)
        glance = (
            *(best.text if best else "", best.confidence if best else 0.0, len(captions)),
            *(captions.duration, captions.width, captions.height),
            len(library.read_corrections(identity)),
            library.place("clips", identity).stat().st_mtime,
        )
        cursor = self._db.execute(
            "INSERT INTO clips VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (identity, stamp, *glance),
        )
        clip = cursor.lastrowid
        spans = [(s.start, s.end) for s in record.segments] if record else []
        unsaid = " . ".join(text for text, _ in record.unsaid) if record else ""
        spans = spans or [(0.0, captions.duration)]
        shown = {}
        for number, (start, end) in enumerate(spans):
            segment = self._db.execute(
                "INSERT INTO segments VALUES (NULL, ?, ?, ?, ?)", (clip, number, start, end)
            ).lastrowid
            assert segment is not None
            said = _list_said(captions, spans, number)
            # What a film's segments leave unsaid is not known of each by itself.
            rest = unsaid if len(spans) == 1 else ""
            row = (segment, " . ".join(said), rest)
            self._db.execute("INSERT INTO texts (rowid, said, unsaid) VALUES (?, ?, ?)", row)
            self._db.executemany(
                "INSERT INTO sentences VALUES (NULL, ?, ?, NULL)", [(segment, t) for t in said]
            )
            if record is not None:
                if record.digest not in lexica:
                    lexicon = library.read_lexicon(record.digest)
                    lexica[record.digest] = _Numbered(lexicon, self._number_words(lexicon))
                lexicon, numbers = lexica[record.digest]
                likely = lexicon.calibrate(from_byte(record.segments[number].clip))
                shown[segment] = numbers, to_byte(likely)
        return shown

    def _write_planes(self, shown: Mapping[int, tuple[Ids, UInt8Array]]) -> None:
        """A number may have been another segment's before, with other words."""
        (words,) = self._db.execute("SELECT coalesce(max(id), 0) FROM words").fetchone()
        for block in sorted({segment // BLOCK for segment in shown}):
            planes = np.zeros((words + 1, BLOCK), np.uint8)
            rows = self._db.execute("SELECT word, likely FROM planes WHERE block = ?", (block,))
            for word, likely in rows:
                planes[word] = np.frombuffer(likely, np.uint8)
            for segment, (numbers, likely) in shown.items():
                if segment // BLOCK == block:
                    planes[:, segment % BLOCK] = 0
                    planes[numbers, segment % BLOCK] = likely
            self._db.execute("DELETE FROM planes WHERE block = ?", (block,))
            self._db.executemany(
                "INSERT INTO planes VALUES (?, ?, ?)",
                ((block, word, planes[word].tobytes()) for word in range(1, words + 1)),
            )

    def _number_words(self, lexicon: WordList) -> Ids:
        """(W,): the index's number of each word."""
        known = dict(self._db.execute("SELECT word, id FROM words"))
        for word in lexicon.words:
            if word not in known:
                known[word] = self._db.execute(
                    "INSERT INTO words VALUES (NULL, ?)", (word,)
                ).lastrowid
                row = (known[word], word)
                self._db.execute("INSERT INTO stems (rowid, word) VALUES (?, ?)", row)
        return np.array([known[word] for word in lexicon.words], np.int64)

    def _embed(self, embed: Embed) -> None:
        """In pieces, so that a kill costs little."""
        query = "SELECT id, text FROM sentences WHERE meaning IS NULL LIMIT 512"
        while rows := self._db.execute(query).fetchall():
            vectors = embed([text for _, text in rows]).astype(np.float16)
            with self._db:
                self._db.executemany(
                    "UPDATE sentences SET meaning = ? WHERE id = ?",
                    [(v.tobytes(), each) for v, (each, _) in zip(vectors, rows, strict=True)],
                )

    # Questions

    def read_segments(self) -> dict[int, SegmentRow]:
        """By number."""
        rows = self._db.execute(
            "SELECT segments.id, identity, number, start, stop FROM segments"
            " JOIN clips ON clips.id = segments.clip ORDER BY segments.id"
        )
        return {each: SegmentRow(*row) for each, *row in rows}

    def read_cards(self) -> list[Card]:
        """Of all clips."""
        fields = "identity, text, confidence, sentences, duration, width, height, corrected, made"
        return [Card(*row) for row in self._db.execute(f"SELECT {fields} FROM clips")]

    def match(self, words: Sequence[str], weights: tuple[float, float]) -> dict[int, float]:
        """BM25 of segments whose sentences have any of the words; more is better.

        The weights are of what is said and of what was found and left unsaid.
        """
        rows = self._db.execute(
            "SELECT rowid, bm25(texts, ?, ?) FROM texts WHERE texts MATCH ?",
            (*weights, " OR ".join(map(_quote, words))),
        )
        return {segment: -score for segment, score in rows}

    def find_words(self, word: str) -> dict[int, str]:
        """The numbers of words of the same stem."""
        rows = self._db.execute(
            "SELECT rowid, word FROM stems WHERE stems MATCH ? ORDER BY rowid", (_quote(word),)
        )
        return dict(rows.fetchall())

    def read_plane(self, word: int, segments: Ids) -> FloatArray:
        """Of these segments, the probability that people name the word there."""
        plane = np.zeros((int(segments.max()) // BLOCK + 1, BLOCK), np.uint8)
        query = "SELECT block, likely FROM planes WHERE word = ?"
        for block, likely in self._db.execute(query, (word,)):
            if block < len(plane):
                plane[block] = np.frombuffer(likely, np.uint8)
        return from_byte(plane.ravel()[segments])

    def stem(self, words: Sequence[str]) -> set[str]:
        return self._stemmer.stem(words)

    def read_meanings(self) -> tuple[Ids, FloatArray, list[str]]:
        """Of all sentences that are said: their segments, directions (S, D) and texts."""
        rows = self._db.execute(
            "SELECT segment, meaning, text FROM sentences WHERE meaning IS NOT NULL ORDER BY id"
        ).fetchall()
        if not rows:
            return np.zeros(0, np.int64), np.zeros((0, 1), np.float32), []
        vectors = np.stack([np.frombuffer(blob, np.float16) for _, blob, _ in rows])
        segments = np.array([segment for segment, _, _ in rows], np.int64)
        return segments, vectors.astype(np.float32), [text for _, _, text in rows]


class _Stemmer:
    """FTS5's own, so that stems are the same everywhere."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.executescript(
            "CREATE VIRTUAL TABLE words USING fts5 (word, tokenize = 'porter unicode61');"
            "CREATE VIRTUAL TABLE terms USING fts5vocab (words, row);"
        )

    def stem(self, words: Sequence[str]) -> set[str]:
        self._db.executemany("INSERT INTO words VALUES (?)", [(word,) for word in words])
        stems = {term for (term,) in self._db.execute("SELECT term FROM terms")}
        self._db.execute("DELETE FROM words")
        return stems


class _Numbered(NamedTuple):
    lexicon: WordList
    numbers: Ids
    """(W,): the index's number of each word."""


@contextmanager
def open_index(library: Library) -> Iterator[Index]:
    """The library's, made anew if it is missing, damaged or of another version.

    Where the folder cannot be written, one in memory that is gone afterwards.
    """
    path = library.folder / INDEX
    try:
        connection = _connect(path)
    except sqlite3.OperationalError:
        connection = _prepare(sqlite3.connect(":memory:"))
    with closing(connection):
        yield Index(connection)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=60)
    try:
        return _prepare(connection)
    except sqlite3.OperationalError:
        connection.close()
        raise
    except (sqlite3.DatabaseError, LookupError):
        connection.close()
        # Our own file, which holds nothing that is not elsewhere too.
        path.unlink()
        return _prepare(sqlite3.connect(path, timeout=60))


def _prepare(connection: sqlite3.Connection) -> sqlite3.Connection:
    """With all its tables; a LookupError for an index of another version."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in (0, VERSION):
        raise LookupError(version)
    if version == 0:
        connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
    return connection


def _stamp(library: Library, identity: str) -> str:
    """Changes with the clip's result and with what a person says of it."""
    kinds = (("clips", ".json"), ("corrections", ".json"), ("words", ".safetensors"))
    return " ".join(_look_at(library.place(kind, identity, ending)) for kind, ending in kinds)


def _look_at(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return "-"
    return f"{status.st_size}/{status.st_mtime_ns}"


def _list_said(
    captions: DenseCaptions, spans: Sequence[tuple[float, float]], number: int
) -> list[str]:
    """The sentences whose middle lies in the segment of that number."""
    ends = [end for _, end in spans]

    def place(middle: float) -> int:
        return min(int(np.searchsorted(ends, middle, side="right")), len(ends) - 1)

    return [each.text for each in captions if place((each.start + each.end) / 2) == number]


def _quote(word: str) -> str:
    if not word:
        raise CorpusError("a question needs words")
    return '"' + word.replace('"', '""') + '"'
