"""A library made by hand: clips whose sentences and words are known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from tests.export.made_captions import GRID, make_caption, make_captions

from densevidcap.library.shown import ShownWords, WordList, WordRecord, to_byte, to_rows
from densevidcap.library.store import Entry, Library, Source
from densevidcap.types import FloatArray

WORDS = WordList(
    ("dog", "beach", "dogs", "cooking", "man", "ball"), raw=(0.0, 0.5, 1.0), true=(0.0, 0.8, 1.0)
)
"""A raw half is worth 80%."""
TIMES = np.array([0.5, 1.5, 2.5, 3.5])


def make_words(
    shown: Mapping[str, float],
    frames: Mapping[str, tuple[int, ...]] | None = None,
    boxes: Mapping[str, tuple[int, int, int, int]] | None = None,
    span: tuple[float, float] = (0.0, 4.0),
    vectors: FloatArray | None = None,
) -> ShownWords:
    """`shown` are raw probabilities. A word is in region 5 of its `frames`, and its box of the
    first of these, in 255ths, is there if it is named. `vectors` (K, R, D) are features of the
    first K frames; three of nothing if there are none."""
    if vectors is None:
        vectors = np.zeros((0, len(GRID), 3), np.float32)
    index = {word: number for number, word in enumerate(WORDS.words)}
    clip = np.zeros(len(WORDS.words), np.float32)
    for word, probability in shown.items():
        clip[index[word]] = probability
    pairs = [(f, index[w]) for w, where in (frames or {}).items() for f in where]
    boxed = [(index[w], box, (frames or {})[w][0]) for w, box in (boxes or {}).items()]
    return ShownWords(
        *span,
        grid=GRID,
        times=TIMES + span[0],
        clip=to_byte(clip),
        frames=np.array([f for f, _ in pairs], np.uint16),
        words=np.array([w for _, w in pairs], np.uint8),
        regions=np.full(len(pairs), 5, np.uint16),
        likely=to_byte(np.full(len(pairs), 0.9, np.float32)),
        boxed=np.array([w for w, _, _ in boxed], np.uint8),
        boxes=np.array([box for _, box, _ in boxed], np.uint8).reshape(-1, 4),
        boxed_frames=np.array([f for _, _, f in boxed], np.uint16),
        look=(vectors.mean(axis=(0, 1)) if len(vectors) else np.zeros(3)).astype(np.float16),
        moments=np.arange(len(vectors), dtype=np.uint16),
        vectors=to_rows(vectors),
    )


def add(
    library: Library,
    name: str,
    *texts: str,
    words: ShownWords | None = None,
    unsaid: tuple[str, ...] = (),
    file: Path | None = None,
) -> str:
    """A clip of four seconds; its identity follows from its name. Where no file is given, it is
    gone."""
    identity = name.encode().hex().ljust(32, "0")[:32]
    said = make_captions(name, *(make_caption(text) for text in texts))
    record = WordRecord(
        WORDS.digest, (words or make_words({}),), tuple((text, 0.1) for text in unsaid)
    )
    library.write(Entry(identity, "recipe", said, 1.0), record, WORDS)
    library.note(Source(str(file or f"/films/{name}"), name, "stamp", identity))
    return identity


def make_library(folder: Path) -> Library:
    """A dog on a beach that is said and shown, one that is only shown, and two other clips."""
    library = Library.make(folder)
    seen = make_words(
        {"dog": 0.5, "beach": 0.5},
        {"dog": (1, 2), "beach": (0, 1, 2, 3)},
        {"dog": (51, 102, 102, 204)},
    )
    add(library, "beach.mp4", "A dog runs on the beach.", "A man watches.", words=seen)
    add(library, "shown.mp4", "A man is talking.", words=make_words({"dog": 0.4}, {"dog": (3,)}))
    add(library, "kitchen.mp4", "A man is cooking.", words=make_words({"cooking": 0.9, "man": 0.9}))
    add(library, "ball.mp4", "A ball lies there.", words=make_words({"ball": 0.3, "dog": 0.001}))
    return library
