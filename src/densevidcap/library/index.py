"""What `find` looks things up in: one SQLite file, made of a library and made again at any time.

Sentences are in a full-text index (FTS5, English stems). Words that regions show are planes: for
each word a byte a segment, how probable it is there, so that a question reads only its own words.
How segments and their regions look lies in files beside it, which are mapped into memory. Only
clips that are new or changed are read.
"""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from densevidcap.errors import CorpusError, DenseVidCapWarning
from densevidcap.library import looks
from densevidcap.library.looks import REGIONS, SEGMENTS, Ids, Looks
from densevidcap.library.shown import (
    HalfArray,
    Int8Array,
    ShownWords,
    WordList,
    from_byte,
    to_byte,
    to_rows,
)
from densevidcap.library.store import INDEX, Library
from densevidcap.types import DenseCaptions, FloatArray, UInt8Array

VERSION = 3
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


@dataclass
class _New:
    """What is taken in together, by segment."""

    words: dict[int, tuple[Ids, UInt8Array]] = field(default_factory=dict)
    """Their numbers, and how probable they are."""
    rows: dict[tuple[str, str, int], list[tuple[int, Int8Array]]] = field(default_factory=dict)
    """By kind, digest and width."""

    def add_rows(self, segment: int, digest: str, seen: ShownWords) -> None:
        width = len(seen.look)
        regions = seen.vectors.reshape(-1, width)
        for kind, rows in ((SEGMENTS, to_rows(seen.look[None])), (REGIONS, regions)):
            if len(rows):
                self.rows.setdefault((kind, digest, width), []).append((segment, rows))


class Index:
    """Numbers of segments begin at 1 and are not those of the clips' own."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        """Vectors lie in the folder."""
        self._db = connection
        self.looks = Looks(connection, folder)
        self._stemmer = _Stemmer()

    def update(
        self, library: Library, embed: Embed | None, advance: Callable[[], None] = lambda: None
    ) -> int:
        """Take in what is new or changed, let go what is gone; return how many clips that were."""
        known = dict(self._db.execute("SELECT identity, stamp FROM clips"))
        now = _stamp(library)
        gone = [each for each, stamp in known.items() if now.get(each) != stamp]
        new = [each for each, stamp in now.items() if known.get(each) != stamp]
        if gone:
            with self._writing():
                for identity in gone:
                    self._remove(identity, now.get(identity, ""))
        lexica: dict[str, _Numbered] = {}
        for start in range(0, len(new), TOGETHER):
            with self._writing():
                found = _New()
                for identity in new[start : start + TOGETHER]:
                    try:
                        self._add(library, identity, now[identity], lexica, found)
                    except CorpusError as error:
                        # One that is damaged must not be in the way of the others.
                        warnings.warn(f"not searched: {error}", DenseVidCapWarning, stacklevel=2)
                    advance()
                self._write_planes(found.words)
                for space, rows in found.rows.items():
                    self.looks.add(*space, rows)
        if gone or new:
            with self._writing():
                self.looks.tidy()
        if embed is not None:
            self._embed(embed)
        return len(gone) + len(new)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Alone from the first look on: others may take in the same clips at the same time."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            yield

    def _remove(self, identity: str, stamp: str) -> None:
        """Unless another process has it as it is now."""
        query = "SELECT id FROM clips WHERE identity = ? AND stamp != ?"
        row = self._db.execute(query, (identity, stamp)).fetchone()
        if row is None:
            return
        (clip,) = row
        for (segment,) in self._db.execute("SELECT id FROM segments WHERE clip = ?", (clip,)):
            self._db.execute("DELETE FROM texts WHERE rowid = ?", (segment,))
            self._db.execute("DELETE FROM sentences WHERE segment = ?", (segment,))
            self.looks.remove(segment)
        self._db.execute("DELETE FROM segments WHERE clip = ?", (clip,))
        self._db.execute("DELETE FROM clips WHERE id = ?", (clip,))

    def _add(
        self,
        library: Library,
        identity: str,
        stamp: str,
        lexica: dict[str, _Numbered],
        found: _New,
    ) -> None:
        """A clip and its segments; what is shown in them is only `found`."""
        known = self._db.execute("SELECT 1 FROM clips WHERE identity = ?", (identity,))
        if known.fetchone() is not None:
            return
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
                seen = record.segments[number]
                found.words[segment] = numbers, to_byte(lexicon.calibrate(from_byte(seen.clip)))
                found.add_rows(segment, record.digest, seen)

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

    @property
    def version(self) -> int:
        """Another when another process has written."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(version)

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
        first, last = int(segments.min()) // BLOCK, int(segments.max()) // BLOCK
        plane = np.zeros((last - first + 1, BLOCK), np.uint8)
        query = "SELECT block, likely FROM planes WHERE word = ? AND block BETWEEN ? AND ?"
        for block, likely in self._db.execute(query, (word, first, last)):
            plane[block - first] = np.frombuffer(likely, np.uint8)
        return from_byte(plane.ravel()[segments - first * BLOCK])

    def stem(self, words: Sequence[str]) -> set[str]:
        return self._stemmer.stem(words)

    def read_meanings(self) -> tuple[Ids, HalfArray]:
        """Of all sentences that are said: their segments, and directions (S, D)."""
        rows = self._db.execute(
            "SELECT segment, meaning FROM sentences WHERE meaning IS NOT NULL ORDER BY id"
        ).fetchall()
        segments = np.array([segment for segment, _ in rows], np.int64)
        vectors = np.frombuffer(b"".join(meaning for _, meaning in rows), np.float16)
        return segments, vectors.reshape(len(rows), -1) if rows else vectors.reshape(0, 1)


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
def open_index(library: Library, fault: sqlite3.DatabaseError | None = None) -> Iterator[Index]:
    """The library's, made anew if it is missing, damaged or of another version.

    Where it cannot be read or written, one in memory that is gone afterwards. A `fault` is what
    went wrong with it when it was open.
    """
    folder = library.folder
    with ExitStack() as stack:
        try:
            if isinstance(fault, sqlite3.OperationalError):
                raise fault
            if fault is not None:
                # Damaged: our own file, which holds nothing that is not elsewhere too.
                (folder / INDEX).unlink(missing_ok=True)
            connection = _connect(folder / INDEX)
        except (sqlite3.OperationalError, OSError):
            folder = Path(stack.enter_context(TemporaryDirectory()))
            connection = _prepare(sqlite3.connect(":memory:"), folder)
        stack.enter_context(closing(connection))
        yield Index(connection, folder)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=60)
    try:
        return _prepare(connection, path.parent)
    except sqlite3.OperationalError:
        connection.close()
        raise
    except (sqlite3.DatabaseError, LookupError):
        connection.close()
        # Our own file, which holds nothing that is not elsewhere too.
        path.unlink()
        return _prepare(sqlite3.connect(path, timeout=60), path.parent)


def _prepare(connection: sqlite3.Connection, folder: Path) -> sqlite3.Connection:
    """With all its tables; a LookupError for an index of another version, or without its files."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in (0, VERSION):
        raise LookupError(version)
    if version == 0:
        connection.executescript(
            f"BEGIN; {_SCHEMA} {looks.SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;"
        )
    if not Looks(connection, folder).are_whole:
        raise LookupError(folder)
    return connection


def _stamp(library: Library) -> dict[str, str]:
    """Of each clip: changes with its result and with what a person says of it."""
    kinds = (("clips", ".json"), ("corrections", ".json"), ("words", ".safetensors"))
    looks: list[dict[str, str]] = []
    for kind, ending in kinds:
        looks.append({})
        for entry in library.scan(kind, ending):
            # A clip may be taken out meanwhile.
            with suppress(FileNotFoundError):
                status = entry.stat()
                identity = entry.name[: -len(ending)]
                looks[-1][identity] = f"{status.st_size}/{status.st_mtime_ns}"
    return {each: " ".join(look.get(each, "-") for look in looks) for each in sorted(looks[0])}


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
