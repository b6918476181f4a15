"""Where a clip cuts from one shot to the next, and the segments that are described apart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from densevidcap.config import FramesConfig
from densevidcap.data.clip import Clip, Size
from densevidcap.data.sampling import Sampling, Shot, end_of
from densevidcap.types import Frames, MapShape, TimeArray, UInt8Array

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


def find_shots(clip: Clip) -> list[Shot]:
    """The clip's shots as (start, end) seconds, without gaps, from its first frame to its end.

    Finds cuts, not slow fades: a frame starts a shot if it differs from the one before in
    colours and layout, and by far more than neighbouring frames differ from each other.
    """
    times, changes = _measure(clip)
    if len(times) < 2:
        return [(float(start), end_of(times)) for start in times]
    starts = [float(times[0])]
    for index in np.flatnonzero(_stand_out(changes)) + 1:
        if times[index] - starts[-1] >= SHORTEST_SHOT:
            starts.append(float(times[index]))
    return list(pairwise([*starts, end_of(times)]))


def _measure(clip: Clip) -> tuple[TimeArray, Changes]:
    """(N,) frame times, (N - 1,) changes from each frame to the next."""
    times, changes = [], []
    before: UInt8Array | None = None
    for seconds, image in clip.stream(THUMBNAIL):
        times.append(seconds)
        if before is not None:
            changes.append(_change(before, image))
        before = image
    return np.array(times), np.array(changes)


def _change(before: UInt8Array, after: UInt8Array) -> float:
    """0 to 1: half from colours wherever they are, half from the place they are in."""
    colours = np.abs(_histogram(before) - _histogram(after)).sum() / 2
    places = np.abs(before.astype(np.int16) - after).mean() / 255
    return float(colours + places) / 2


def _histogram(image: UInt8Array) -> Changes:
    """(512,) shares of the colours, three bits a channel."""
    red, green, blue = np.moveaxis(image >> 5, -1, 0).astype(np.int64)
    counts = np.bincount((red << 6 | green << 3 | blue).ravel(), minlength=512)
    return np.asarray(counts / red.size)


def _stand_out(changes: Changes) -> npt.NDArray[np.bool_]:
    """Whether each change is a peak, large in itself and against its neighbours' mean."""
    window = 2 * NEIGHBOURS + 1
    around = np.pad(changes, NEIGHBOURS, constant_values=np.nan)
    around = np.lib.stride_tricks.sliding_window_view(around, window)
    peak = changes >= np.nanmax(around, axis=1, initial=0)
    known = np.isfinite(around).sum(axis=1) - 1
    usual = (np.nansum(around, axis=1) - changes) / np.maximum(known, 1)
    return np.asarray(peak & (changes >= LEAST_CHANGE) & (changes >= OUTSTANDING * usual))


def cut(clip: Clip, config: FramesConfig) -> list[Shot]:
    """(start, end) of each segment, without gaps: the clip's shots, or all of it.

    Features without pictures are one segment: they show no cuts, and how long they last is a guess.
    """
    end = end_of(clip.times())
    if not clip.has_pictures:
        if config.per_shot == "always":
            clip.require_pictures("finding shots")
        return [(0.0, end)]
    if config.per_shot == "never" or (config.per_shot == "long" and end <= config.longest):
        return [(0.0, end)]
    return [part for shot in find_shots(clip) for part in _divide(shot, config.longest)]


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
    shots = None
    if config.strategy == "shots":
        shots = [(max(start, span[0]), end) for start, end in find_shots(clip) if end > span[0]]
        shots = [(start, min(end, span[1])) for start, end in shots if start < span[1]]
    chosen = first + Sampling.of(config).choose(times[first:last], shots)
    frames = clip.look(chosen.tolist(), form)
    # In place of a damaged frame comes the next intact one, maybe that of another segment.
    return frames and frames.before(span[1])
