"""Region-sequences: against NumPy candidate by candidate, and how the cost grows."""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from densevidcap.config import RegionsConfig
from densevidcap.regions import generate_sequences
from densevidcap.regions.objectives import SMOOTHING
from densevidcap.types import FloatArray, FrameGrid, Grid

SEQUENCES, WEIGHTS = RegionsConfig().k, [*RegionsConfig().terms.values()]
SWEEPS = {
    "frames": (30, 100, 300, 1000, 3000),
    "regions": (16, 64, 256, 1024),
    "words": (418, 1672, 6690, 26760),
}


def run() -> None:
    clip = make_clip()
    found = [list(sequence.regions) for sequence in generate_sequences(clip)]
    assert found == generate_by_candidate(clip, SEQUENCES)
    # In turns, so that whatever else the machine does slows both alike.
    rounds = [
        (
            measure(lambda: generate_sequences(clip)),
            measure(lambda: generate_by_candidate(clip, SEQUENCES)),
        )
        for _ in range(20)
    ]
    batched, by_candidate = np.min(rounds, axis=0)
    print(f"{SEQUENCES} sequences, 30 frames, 16 regions, 6,690 words, 2,048 features:")
    for clock, ours, theirs in zip(("elapsed", "of CPU"), batched, by_candidate, strict=True):
        print(
            f"  {1000 * ours:.1f} ms {clock}; candidate by candidate {1000 * theirs:.0f} ms, "
            f"{theirs / ours:.1f} times as long, for the same sequences"
        )
    for name, sizes in SWEEPS.items():
        print_sweep(name, sizes)


def print_sweep(name: str, sizes: Sequence[int]) -> None:
    """Time and additional memory while one size grows and the others stay."""
    table = Table(name, "ms", "MB beside the clip")
    times = []
    for size in sizes:
        clip = make_clip(**{name: size})
        times.append(min(measure(partial(generate_sequences, clip)).elapsed for _ in range(3)))
        table.add_row(f"{size:,}", f"{1000 * times[-1]:.0f}", f"{measure_memory(clip):.1f}")
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    table.caption = f"time grows as {name}^{exponent:.2f}"
    Console().print(table)


class Seconds(NamedTuple):
    """How long work takes; what else a machine does adds to the first, and less to the second."""

    elapsed: float
    of_cpu: float


def measure(work: Callable[[], object]) -> Seconds:
    start = Seconds(time.perf_counter(), time.process_time())
    work()
    return Seconds(time.perf_counter() - start.elapsed, time.process_time() - start.of_cpu)


def measure_memory(clip: FrameGrid) -> float:
    """MB that a search takes at most, besides the clip's own arrays."""
    tracemalloc.start()
    generate_sequences(clip, RegionsConfig(k=2))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 2**20


def make_clip(
    frames: int = 30, regions: int = 16, words: int = 6690, features: int = 2048
) -> FrameGrid:
    """Random word probabilities, few of them high, and non-negative features."""
    rng = np.random.default_rng(0)
    side = math.isqrt(regions)
    probabilities = rng.random((frames, regions, words), np.float32)
    probabilities **= 6
    return FrameGrid(
        Grid(side, side, window=1, stride=1),
        np.arange(frames) / 2,
        probabilities,
        rng.random((frames, regions, features), np.float32),
    )


def generate_by_candidate(clip: FrameGrid, k: int) -> list[list[int]]:
    """The equations for one candidate and one chosen sequence at a time."""
    frames = len(clip.times)
    attainable = clip.probabilities.max(axis=(0, 1)).sum()
    units = clip.features / np.linalg.norm(clip.features, axis=2, keepdims=True)
    spread = 1 - np.square(units.mean(axis=(0, 1))).sum()
    neighbours = clip.grid.neighbours()
    chosen: list[FloatArray] = []
    taken: set[tuple[int, int]] = set()
    paths: list[list[int]] = []
    is_new_start = np.ones(len(clip.grid), bool)
    for _ in range(k):
        path: list[int] = []
        new = 0
        pooled = np.zeros(clip.probabilities.shape[2], np.float32)
        for frame in range(frames):
            allowed = neighbours[path[-1]] if path else is_new_start
            gains = np.full(len(clip.grid), -np.inf)
            for region in np.flatnonzero(allowed):
                candidate = np.maximum(pooled, clip.probabilities[frame, region])
                q = (candidate + SMOOTHING) / (candidate + SMOOTHING).sum()
                f_inf = candidate.sum() / attainable
                f_div = min(((p * np.log(p / q)).sum() for p in chosen), default=0)
                f_div += (new + ((frame, int(region)) not in taken)) / frames
                f_coh = sum(
                    units[frame, region] @ units[earlier, path[earlier]] for earlier in range(frame)
                ) / (frames * (frames - 1) / 2 * spread)
                gains[region] = np.dot(WEIGHTS, (f_inf, f_div, f_coh))
            path.append(int(gains.argmax()))
            new += (frame, path[-1]) not in taken
            pooled = np.maximum(pooled, clip.probabilities[frame, path[-1]])
        paths.append(path)
        taken.update(enumerate(path))
        is_new_start[path[0]] = False
        chosen.append((pooled + SMOOTHING) / (pooled + SMOOTHING).sum())
    return paths
