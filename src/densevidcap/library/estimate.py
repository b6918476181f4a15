"""How much there is to do, before it is done: length by a glance, time by a trial."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice
from statistics import mean

import numpy as np

from densevidcap.data.clip import open_clip
from densevidcap.data.containers import open_container
from densevidcap.data.pictures import PictureClip
from densevidcap.data.video import VideoClip
from densevidcap.errors import DenseVidCapError
from densevidcap.library.describing import Describer
from densevidcap.library.inputs import Named
from densevidcap.library.store import Library
from densevidcap.types import Frames

GLANCES = 200
"""Clips that are opened to estimate the length of all."""
PAST = 50
"""Clips whose time tells of that of others."""
TRIAL = 4
"""Frames that are looked at to know how fast this machine is."""
LOOKING = 0.5
"""The share of all work that looking at frames is, about."""
SHOT = 8.0
"""Seconds of a shot, about."""
MICROSECONDS = 1e6


def glance(source: str) -> float | None:
    """Seconds that a clip says it lasts; None if it does not say. Decodes nothing."""
    from av.error import FFmpegError

    try:
        clip = open_clip(source)
        if isinstance(clip, PictureClip):
            return len(clip.pictures) / clip.frame_rate
        if isinstance(clip, VideoClip):
            with open_container(clip.extent, clip.limits, decode=False) as container:
                return container.duration / MICROSECONDS if container.duration else None
    except (DenseVidCapError, FFmpegError, OSError):
        # Whoever captions it says what is wrong with it.
        pass
    return None


def estimate_length(clips: Sequence[Named]) -> float | None:
    """Seconds of all clips, from those of some, evenly spread; None if none of these says."""
    step = max(1, len(clips) // GLANCES)
    found = [length for clip in clips[::step] if (length := glance(clip.source)) is not None]
    return mean(found) * len(clips) if found else None


def estimate_time(library: Library, describer: Describer, clips: int, length: float) -> float:
    """Seconds that so many clips of that length in all will take.

    From what the library's clips took, if there are some; else from a few frames of noise.
    """
    recipe = describer.recipe
    fitting = (each for each in library.identities() if library.is_done(each, recipe))
    entries = [library.read_entry(each) for each in islice(fitting, PAST)]
    took = [entry.seconds for entry in entries]
    lasted = sum(entry.captions.duration for entry in entries)
    config = describer.captioner.override(describer.settings).frames

    def count_segments(count: int, seconds: float) -> float:
        is_cut = config.per_shot == "always" or (
            config.per_shot == "long" and seconds / count > config.longest
        )
        return max(count, seconds / SHOT) if is_cut else count

    if took:
        return sum(took) / count_segments(len(took), lasted) * count_segments(clips, length)
    words, engine = describer.captioner.words, describer.captioner.config.engine
    size = words.encoder.size
    images = np.random.default_rng(0).integers(0, 255, (TRIAL, *size[::-1], 3), np.uint8)
    frames = Frames(images, np.arange(TRIAL, dtype=np.float64))
    words.read(frames, engine)
    began = time.monotonic()
    words.read(frames, engine)
    a_frame = (time.monotonic() - began) / TRIAL
    return count_segments(clips, length) * config.most * a_frame / LOOKING


def name_duration(seconds: float) -> str:
    """In words, as precise as an estimate is: "40 s", "12 min", "3 h 20 min", "2 days"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60 // 10 * 10:02d} min"
    return f"{round(minutes / 60 / 24)} days"
