"""Which frames of a clip to look at. Works on times alone, so it fits any frame rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from densevidcap.config import FramesConfig
from densevidcap.types import ImageArray, TimeArray

Strategy = Literal["uniform", "jittered", "random", "shots"]
Indices = npt.NDArray[np.int64]
Shot = tuple[float, float]
"""(start, end) in seconds; the end is the next shot's start."""


@dataclass(frozen=True)
class Sampling:
    """How to choose frames: the same clip and the same sampling give the same frames.

    uniform   cuts the clip into equal spans of time and takes the middle of each
    jittered  takes a random moment of each span
    random    takes any frames
    shots     gives each shot one frame, then more to the longer ones
    """

    strategy: Strategy = "uniform"
    frames: int = 30
    """At most."""
    seed: int = 0
    """For the random strategies; change it to see other frames of a clip."""
    every: float = 0.0
    """Seconds from one to the next, where that makes fewer, but at least `least`; 0: the most."""
    least: int = 8

    def __post_init__(self) -> None:
        if self.strategy not in get_args(Strategy):
            raise ValueError(f"strategy must be one of {get_args(Strategy)}, not {self.strategy!r}")
        if self.frames < 1:
            raise ValueError(f"at least one frame is needed, not {self.frames}")
        if not (self.every >= 0 and self.least >= 1):
            raise ValueError("every is 0 or more, least 1 or more")
        if self.seed < 0:
            raise ValueError(f"a seed is 0 or more, not {self.seed}")

    @classmethod
    def of(cls, config: FramesConfig) -> Sampling:
        return cls(config.strategy, config.most, config.seed, config.every, config.least)

    def to_dict(self) -> dict[str, Any]:
        """What decides which frames are chosen; caches and trainings are told apart by it."""
        known = asdict(self)
        return known if self.every else {n: known[n] for n in ("strategy", "frames", "seed")}

    def count(self, times: TimeArray) -> int:
        """T: how many of these frames are chosen."""
        most = min(self.frames, len(times))
        if not self.every:
            return most
        # A length that is whole but for rounding does not count as longer.
        by_time = ceil((end_of(times) - float(times[0])) / self.every - 1e-6)
        return min(most, max(self.least, by_time))

    def choose(self, times: TimeArray, shots: Sequence[Shot] | None = None) -> Indices:
        """(T,) ascending indices of different frames, of N `times`."""
        count = self.count(times)
        generator = np.random.default_rng(self.seed)
        if self.strategy == "random":
            return np.sort(generator.choice(len(times), count, replace=False))
        if self.strategy == "jittered":
            return _spread(times, end_of(times), generator.random(count))
        if self.strategy == "shots" and shots:
            return _spread_over_shots(times, count, shots)
        return _spread(times, end_of(times), np.full(count, 0.5))


DEFAULT_SAMPLING = Sampling()


def end_of(times: TimeArray) -> float:
    """When a clip of these frame times ends: its last frame lasts as long as most do."""
    gap = float(np.median(np.diff(times))) if len(times) > 1 else 1.0
    return float(times[-1]) + gap


CELLS = 16
"""Of a thumbnail's side."""


def find_still(images: ImageArray, least: float) -> Indices:
    """(T,): the frame that stands for each of (T, H, W, 3): itself, or an earlier one that shows
    nearly the same.

    Each is compared with the last one that stands for itself, and not with the one before it: what
    changes slowly changes all the same.
    """
    stands_for = np.arange(len(images))
    if not least:
        return stands_for
    thumbnails = _shrink(images)
    for number in range(1, len(images)):
        last = stands_for[number - 1]
        change = thumbnails[number] - thumbnails[last]
        if np.sqrt(np.square(change).mean()) < least:
            stands_for[number] = last
    return stands_for


def _shrink(images: ImageArray) -> npt.NDArray[np.float32]:
    """(T, CELLS, CELLS, 3) with values 0 to 1, of every second row and column."""
    rows, columns = (np.arange(CELLS) * ((size + 1) // 2) // CELLS for size in images.shape[1:3])
    small = images[:, ::2, ::2]
    if min(small.shape[1:3]) <= CELLS:
        return np.asarray(small / np.float32(255))
    sums = np.add.reduceat(small, rows, axis=1, dtype=np.float32)
    sums = np.add.reduceat(sums, columns, axis=2)
    heights = np.diff(rows, append=small.shape[1])
    widths = np.diff(columns, append=small.shape[2])
    return np.asarray(sums / (255 * np.outer(heights, widths)[:, :, None]), np.float32)


def _spread(times: TimeArray, end: float, offsets: npt.NDArray[np.float64]) -> Indices:
    """The frame on screen at `offsets[k]` (0 to 1) of the k-th of equal spans, each frame once."""
    count = len(offsets)
    order = np.arange(count)
    # A moment on the edge between two frames belongs to the later one, despite rounding.
    moments = times[0] + ((order + offsets) / count + 1e-9) * (end - times[0])
    on_screen = np.searchsorted(times, moments, side="right") - 1
    # Where frames are sparse, several moments meet the same one: move on to the next free
    # frame, but leave enough of them for the moments still to come.
    distinct = np.maximum.accumulate(on_screen - order) + order
    return np.minimum(distinct, len(times) - count + order)


def _spread_over_shots(times: TimeArray, count: int, shots: Sequence[Shot]) -> Indices:
    bounds = np.searchsorted(times, [start for start, _ in shots] + [np.inf])
    bounds[0] = 0
    ends = [*times[bounds[1:-1]], end_of(times)]
    chosen = [
        _spread(times[first:last], end, np.full(share, 0.5)) + first
        for first, last, end, share in zip(
            bounds[:-1], bounds[1:], ends, _share(count, np.diff(bounds)), strict=True
        )
        if share
    ]
    return np.concatenate(chosen)


def _share(count: int, lengths: Indices) -> Indices:
    """Deal `count` frames to shots: one each, longest first, then by frames per share."""
    shares = np.zeros_like(lengths)
    for _ in range(count):
        claims = np.where(shares == 0, lengths * lengths.sum(), lengths / (shares + 1))
        shares[np.argmax(np.where(shares < lengths, claims, -1))] += 1
    return shares
