"""Lanes of a timeline: captions that hold at the same time lie in different ones."""

from __future__ import annotations

from collections.abc import Sequence

from densevidcap.records import Caption


def assign_lanes(captions: Sequence[Caption]) -> list[int]:
    """The lane of each caption, from 0 on: as few as possible, better captions in lower ones.

    A caption's lane is also its colour, so that as few as possible share one at any time.
    """
    order = sorted(range(len(captions)), key=lambda rank: (captions[rank].start, rank))
    lanes = [0] * len(captions)
    free_from: list[float] = []
    for rank in order:
        caption = captions[rank]
        free = (lane for lane, end in enumerate(free_from) if end <= caption.start)
        lane = next(free, len(free_from))
        free_from[lane : lane + 1] = [caption.end]
        lanes[rank] = lane
    return lanes
