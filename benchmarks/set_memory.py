"""A thousand small clips captioned into a library: memory must not grow with their number."""

from __future__ import annotations

import gc
import time
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import psutil
import torch
from tests.data.made_clips import write_video
from tests.pipeline.small_model import write_model

from densevidcap.data.clip import open_clip
from densevidcap.library.captioning import caption_clips
from densevidcap.library.describing import Describer
from densevidcap.library.inputs import Named
from densevidcap.library.store import Library
from densevidcap.progress import Silent
from densevidcap.types import DenseCaptions

CLIPS = 1000
EVERY = 50
"""Clips from one look at the memory to the next."""
WARM = 200
"""Clips after which everything that is made once has been made."""
ALLOWED = 1.0
"""MiB for each hundred clips: what is told of 10,000 clips is 100 MiB then."""
TURNS, TOGETHER = 5, 20
FAST = {"frames.most": 2, "selection.k": 3, "decoding.beam": 1, "decoding.samples": 0}


def run() -> None:
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        describer = Describer(write_model(place / "model"), FAST)
        clips = [_write(place, number) for number in range(CLIPS)]
        _watch_memory(place, describer, clips)
        _compare_rates(place, describer, clips[: TURNS * TOGETHER])


def _write(folder: Path, number: int) -> Named:
    """Frames at times of their own: no two clips are the same."""
    path = folder / f"clip{number}.mp4"
    write_video(path, milliseconds=[0, 90 + number, 900 + number])
    return Named(str(path), path.name)


def _watch_memory(folder: Path, describer: Describer, clips: list[Named]) -> None:
    process, seen = psutil.Process(), count(1)
    looks: list[tuple[int, float]] = []

    def look(_: Named, __: DenseCaptions) -> None:
        number = next(seen)
        if number % EVERY == 0:
            gc.collect()
            looks.append((number, process.memory_info().rss / 2**20))
            print(f"  {number:5} clips  {looks[-1][1]:7.1f} MiB", flush=True)

    library = Library.make(folder / "library")
    with library.writing_alone():
        caption_clips(library, clips, describer, Silent(), look)
    numbers, sizes = np.array([each for each in looks if each[0] >= WARM]).T
    slope = 100 * float(np.polyfit(numbers, sizes, 1)[0])
    print(f"  {slope:+.2f} MiB for each hundred clips after the first {WARM} (allowed: {ALLOWED})")
    assert slope < ALLOWED


def _compare_rates(folder: Path, describer: Describer, clips: list[Named]) -> None:
    """In turns, so that a busy moment of the machine hits both; seconds of CPU."""
    alone, together = [], []
    for turn in range(TURNS):
        some = clips[turn * TOGETHER : (turn + 1) * TOGETHER]
        library = Library.make(folder / f"library{turn}")
        start = time.process_time()
        with library.writing_alone():
            caption_clips(library, some, describer, Silent())
        middle = time.process_time()
        for clip in some:
            describer.captioner.narrate(open_clip(clip.source), FAST).finish()
        together.append(middle - start)
        alone.append(time.process_time() - middle)
    ratio = median(one / all_ for one, all_ in zip(alone, together, strict=True))
    print(
        f"  a library keeps words and results besides, and does {ratio:.2f} of the clips that"
        f" describing them one by one does in the same CPU time ({TURNS} turns of {TOGETHER})"
    )
