"""What streams of sound share: one rate, and a clip's sound read once for all of its shots."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from densevidcap.data.clip import Clip
from densevidcap.data.sampling import Shot
from densevidcap.types import FloatArray

RATE = 22_050
"""Samples a second: what SoundNet was trained on."""

_heard: WeakKeyDictionary[Clip, FloatArray | None] = WeakKeyDictionary()


def hear(clip: Clip, span: Shot) -> FloatArray | None:
    """(samples,) of that part of the clip; None where there is nothing to hear."""
    if clip not in _heard:
        # Of one clip at a time: a film's sound is large.
        _heard.clear()
        _heard[clip] = clip.sound(RATE)
    sound = _heard[clip]
    if sound is None:
        return None
    part = sound[max(0, round(span[0] * RATE)) : round(span[1] * RATE)]
    return part if part.any() else None
