"""Lanes of a timeline: captions that hold at the same time lie in different ones."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from densevidcap.records import Caption


def assign_lanes(captions: Sequence[Caption]) -> list[int]:
    """The lane of each caption, from 0 on: as few as possible, better captions in lower ones.

    A caption's lane is also its colour, so that as few as possible share one at any time. With
    heaps rather than looks at every lane, because a file may hold thousands that overlap.
    """
    order = sorted(range(len(captions)), key=lambda rank: (captions[rank].start, rank))
    lanes = [0] * len(captions)
    taken: list[tuple[float, int]] = []
    free: list[int] = []
    count = 0
    for rank in order:
        caption = captions[rank]
        while taken and taken[0][0] <= caption.start:
            heappush(free, heappop(taken)[1])
        if not free:
            free.append(count)
            count += 1
        lanes[rank] = heappop(free)
        heappush(taken, (caption.end, lanes[rank]))
    return lanes
