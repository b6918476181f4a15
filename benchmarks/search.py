"""Questions to a large library: 10^5 sentences, 10^6 regions, and what one question costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import psutil

from densevidcap.library.likeness import find_alike
from densevidcap.library.search import Finder
from densevidcap.library.shown import ShownWords, WordList, WordRecord
from densevidcap.library.store import Entry, Library, Source
from densevidcap.types import Box, Caption, DenseCaptions, FloatArray, Grid, RegionSequence

CLIPS = 2000
SHOTS = 10
"""Of each clip; of each shot,"""
SENTENCES = 5
"""and"""
MOMENTS = 2
"""with"""
GRID = Grid(5, 5, 1, 1)
"""25 regions each."""
WIDTH = 384
"""Features of a region, as the bundled model has them, and of a sentence's meaning."""
WORDS = 5121
"""As many as the bundled model has."""
QUESTIONS = 7
AIM = 1.0
"""Seconds."""


def run() -> None:
    random = np.random.default_rng(0)
    words = WordList(tuple(f"w{n}" for n in range(WORDS)), (0.0, 1.0), (0.0, 1.0))
    with TemporaryDirectory() as folder:
        # Nobody waits for the disk while what nobody will miss is made.
        with patch("os.fsync"):
            library = _make(Path(folder) / "library", words, random)
            built = _clock(lambda: _open_and_close(library))
        size = sum(path.stat().st_size for path in library.folder.glob("index*"))
        shots = CLIPS * SHOTS
        print(f"  {CLIPS:,} clips of {SHOTS} shots, {shots * SENTENCES:,} sentences,", end=" ")
        print(f"{shots * MOMENTS * len(GRID):,} regions of {WIDTH} features")
        print(f"  index: {built / shots * 1e3:.1f} ms of CPU a shot, {size / 2**20:.0f} MiB")
        # In a process of its own, whose memory is that of questions alone.
        with ProcessPoolExecutor(1, get_context("spawn")) as apart:
            apart.submit(_ask, library.folder).result()


def _ask(folder: Path) -> None:
    random = np.random.default_rng(1)
    library = Library(folder)
    # What is asked first costs what comes with it: code, and the directions of words.
    _embed([f"w{n}" for n in range(WORDS)])
    before = _measure_memory()
    opened = _clock(lambda: _open_and_close(library))
    print(f"  opened, nothing new {opened:6.3f} s of CPU, {opened / AIM:4.0%} of a second")
    with Finder(library, _embed) as finder:
        questions = [" ".join(_draw(random, 3)) for _ in range(QUESTIONS)]
        _tell("question", [partial(finder.find, each) for each in questions])
        clips = [f"clip{n}.mp4" for n in random.integers(0, CLIPS, QUESTIONS).tolist()]
        box = Box(0.2, 0.2, 0.6, 0.6)
        _tell("like a clip", [partial(find_alike, finder, each) for each in clips])
        _tell("like a region", [partial(find_alike, finder, each, 2.0, box) for each in clips])
        grown = _measure_memory() - before
    print(f"  memory: {grown:.0f} MiB, without what is mapped while it is compared")


def _make(folder: Path, words: WordList, random: np.random.Generator) -> Library:
    library = Library.make(folder)
    # Clips are of kinds, as in life, so that neighbours are not all as far.
    kinds = random.standard_normal((200, WIDTH)).astype(np.float32)
    shown = random.integers(0, 120, (200, WORDS), np.uint8)
    for number in range(CLIPS):
        segments = []
        for shot in range(SHOTS):
            kind = int(random.integers(len(kinds)))
            clip = shown[kind].copy()
            clip[random.integers(0, WORDS, 40)] = 200
            segments.append(_see(10.0 * shot, kinds[kind], clip, random))
        identity = f"{number:032x}"[::-1]
        name = f"clip{number}.mp4"
        entry = Entry(identity, "made", _say(name, random), 1.0)
        library.write(entry, WordRecord(words.digest, tuple(segments)), words)
        library.note(Source(f"/nowhere/{name}", name, "made", identity))
    return library


def _see(start: float, kind: FloatArray, clip: Any, random: np.random.Generator) -> ShownWords:
    shape = MOMENTS, len(GRID), WIDTH
    vectors = np.clip(30 * (kind + random.standard_normal(shape, np.float32)), -127, 127)
    none = np.zeros(0, np.uint16)
    return ShownWords(
        start=start,
        end=start + 10,
        grid=GRID,
        times=np.linspace(0.5, 9.5, 8) + start,
        clip=clip,
        frames=none,
        words=none,
        regions=none,
        likely=none.astype(np.uint8),
        boxed=none,
        boxes=np.zeros((0, 4), np.uint8),
        boxed_frames=none,
        look=vectors.mean(axis=(0, 1)).astype(np.float16),
        moments=np.array([2, 6], np.uint16),
        vectors=vectors.astype(np.int8),
    )


def _say(name: str, random: np.random.Generator) -> DenseCaptions:
    captions = []
    for shot in range(SHOTS):
        start = 10.0 * shot
        sequence = RegionSequence(GRID, (0, 1), (start + 0.5, start + 9.5))
        for _ in range(SENTENCES):
            text = "the {} {} the {} {}".format(*_draw(random, 4))
            captions.append(Caption(text, 0.5, -5.0, start, start + 10, sequence))
    return DenseCaptions(name, 10.0 * SHOTS, 320, 240, tuple(captions), "made", "1", {})


def _draw(random: np.random.Generator, count: int) -> list[str]:
    """Few words are common and many are rare."""
    return [f"w{min(n, WORDS) - 1}" for n in random.zipf(1.3, count).tolist()]


def _embed(texts: Sequence[str]) -> FloatArray:
    """In place of a model of meanings: a direction for each word, which costs next to nothing."""
    rows = [
        np.sum([_direct(word) for word in text.split()], axis=0, dtype=np.float32) for text in texts
    ]
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


_directions: dict[str, FloatArray] = {}


def _direct(word: str) -> FloatArray:
    if word not in _directions:
        random = np.random.default_rng(len(_directions))
        _directions[word] = random.standard_normal(WIDTH).astype(np.float32)
    return _directions[word]


def _open_and_close(library: Library) -> None:
    with Finder(library, _embed):
        pass


def _tell(name: str, questions: Sequence[Callable[[], object]]) -> None:
    """Of each the second time, when what it reads is in memory."""
    seconds = []
    for ask in questions:
        ask()
        seconds.append(_clock(ask))
    typical = median(seconds)
    print(f"  {name:19} {typical:6.3f} s of CPU, {typical / AIM:4.0%} of a second", flush=True)


def _clock(work: Callable[[], object]) -> float:
    """Seconds of CPU: the clock on the wall tells of whatever else the machine does."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _measure_memory() -> float:
    """MiB: what is resident and has no file behind it."""
    memory = psutil.Process().memory_info()
    return float(memory.rss - getattr(memory, "shared", 0)) / 2**20
