"""Where a clip cuts from one shot to the next, and the segments that are described apart."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise, repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from densevidcap.config import FramesConfig
from densevidcap.data.clip import Clip, Size
from densevidcap.data.sampling import Sampling, Shot, end_of
from densevidcap.types import Frames, MapShape, UInt8Array

THUMBNAIL = (48, 48)
"""Pixels (width, height): enough to tell shots apart, too few to see noise."""
LEAST_CHANGE = 0.1
"""Below this, a change is motion or light, never a cut (0: same picture, 1: nothing in common)."""
OUTSTANDING = 7.0
"""A cut changes the picture this many times as much as the frames around it do."""
NEIGHBOURS = 5
"""Frames on either side that say how much change is usual here."""
SHORTEST_SHOT = 0.2
"""Seconds; flashes and wipes change the picture several times in a row."""

Changes = npt.NDArray[np.float64]


def find_shots(clip: Clip) -> Iterator[Shot]:
    """The clip's shots as (start, end) seconds, without gaps, from its first frame to its end.

    Finds cuts, not slow fades: a frame starts a shot if it differs from the one before in
    colours and layout, and by far more than neighbouring frames differ from each other. Each shot
    comes a few frames after its end, while the rest is still to be decoded.
    """
    start: float | None = None
    for moment in _find_cuts(_measure(clip)):
        if start is None:
            start = moment
        elif moment - start >= SHORTEST_SHOT:
            yield start, moment
            start = moment
    if start is not None:
        yield start, max(end_of(clip.times()), np.nextafter(start, np.inf))


class Measured(NamedTuple):
    """A frame, by how much it changes the picture."""

    seconds: float
    change: float
    """From the frame before; infinite for the first, which starts a shot in any case."""


def _measure(clip: Clip) -> Iterator[Measured]:
    before: UInt8Array | None = None
    colours = np.zeros(0)
    for seconds, image in clip.stream(THUMBNAIL):
        histogram = _histogram(image)
        change = np.inf
        if before is not None:
            # 0 to 1: half from colours wherever they are, half from the place they are in.
            places = np.abs(before.astype(np.int16) - image).mean() / 255
            change = (np.abs(colours - histogram).sum() / 2 + places) / 2
        yield Measured(seconds, float(change))
        before, colours = image, histogram


def _find_cuts(frames: Iterable[Measured]) -> Iterator[float]:
    """When shots begin: where a change is a peak, large in itself and against those around it."""
    before: deque[float] = deque(maxlen=NEIGHBOURS)
    waiting: deque[Measured | None] = deque()
    for each in chain(frames, repeat(None, NEIGHBOURS)):
        waiting.append(each)
        now = waiting.popleft() if len(waiting) > NEIGHBOURS else None
        if now is None:
            continue
        after = (other.change for other in waiting if other is not None)
        around = [change for change in (*before, *after) if np.isfinite(change)]
        usual = sum(around) / max(1, len(around))
        if now.change >= max(LEAST_CHANGE, OUTSTANDING * usual, *around):
            yield now.seconds
        before.append(now.change)


def _histogram(image: UInt8Array) -> Changes:
    """(512,) shares of the colours, three bits a channel."""
    red, green, blue = np.moveaxis(image >> 5, -1, 0).astype(np.int64)
    counts = np.bincount((red << 6 | green << 3 | blue).ravel(), minlength=512)
    return np.asarray(counts / red.size)


def cut(clip: Clip, config: FramesConfig) -> Iterator[Shot]:
    """(start, end) of each part to look at, without gaps: the clip's shots, or all of it.

    Features without pictures are one part: they show no cuts, and how long they last is a guess.
    """
    if not is_cut(clip, config):
        yield 0.0, end_of(clip.times())
        return
    for shot in find_shots(clip):
        yield from _divide(shot, config.longest)


def is_cut(clip: Clip, config: FramesConfig) -> bool:
    """Whether the clip's shots are looked at one by one."""
    if config.per_shot == "always":
        clip.require_pictures("finding shots")
        return True
    return is_film(clip, config)


def is_film(clip: Clip, config: FramesConfig) -> bool:
    """Whether its shots are gathered into scenes."""
    return clip.has_pictures and config.is_film(end_of(clip.times()))


def _divide(shot: Shot, longest: float) -> list[Shot]:
    start, end = shot
    parts = max(1, int(np.ceil((end - start) / longest)))
    return list(pairwise(np.linspace(start, end, parts + 1).tolist()))


def sample_segment(
    clip: Clip, span: Shot, config: FramesConfig, form: Size | MapShape
) -> Frames | None:
    """Frames of a segment; None if it has none that can be decoded."""
    times = clip.times()
    first, last = np.searchsorted(times, span).tolist()
    if first == last:
        return None
    is_whole = last - first == len(times)
    shots = list(find_shots(clip)) if config.strategy == "shots" and is_whole else None
    chosen = first + Sampling.of(config).choose(times[first:last], shots)
    frames = clip.look(chosen.tolist(), form)
    # In place of a damaged frame comes the next intact one, maybe that of another segment.
    return frames and frames.before(span[1])
