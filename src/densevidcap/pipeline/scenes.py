"""From shots to scenes, while a film is read, and from scenes to chapters when it is over.

Shots that look alike are of one scene, with all that is between them: a talk that is cut to and fro
is one scene. There are no more scenes than sentences: where a film has more, neighbours that differ
least become one, the shortest first. A scene is known when the film has been read a minute beyond
its end, so that what is held does not grow with the film.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from densevidcap.config import ScenesConfig
from densevidcap.data.sampling import Sampling
from densevidcap.decoding.select import normalise
from densevidcap.regions.objectives import Float64Array
from densevidcap.types import FrameGrid, Span

AHEAD = 60.0
"""Seconds of film after a scene that are read before it is told."""
MOST_HELD = 32
"""Shots that are held at most, however short they are."""
REACH = 3
"""How many shots back another may be that is of the same scene."""


@dataclass(frozen=True)
class Scene:
    """A stretch of film, and what was seen in its frames; at first a single shot."""

    span: Span
    seen: FrameGrid
    looks: tuple[Float64Array, ...]
    """Of its last shots: unit vectors of what the eyes see."""

    @classmethod
    def of_shot(cls, span: Span, seen: FrameGrid) -> Scene:
        vectors = seen.features.mean(axis=1) if seen.frame_vectors is None else seen.frame_vectors
        return cls(span, seen, (normalise(vectors.mean(axis=0, dtype=np.float64)),))

    @property
    def seconds(self) -> float:
        return self.span[1] - self.span[0]

    def compare(self, other: Scene) -> float:
        """The cosine of those two of their shots that are most alike."""
        return max(float(one @ two) for one in self.looks for two in other.looks)

    def join(self, later: Scene, most: int) -> Scene:
        """Both as one, in at most so many frames."""
        span = self.span[0], later.span[1]
        seen = _thin(self.seen.join(later.seen), most)
        return Scene(span, seen, (self.looks + later.looks)[-REACH:])


def gather_scenes(shots: Iterable[Scene], config: ScenesConfig) -> Iterator[Scene]:
    """The film's scenes, each as soon as it is known; at most one more than it has sentences."""
    rate, most = config.sentences / 60, config.frames
    held: list[Scene] = []
    # Scenes that may come beyond what the shots that are held have a right to.
    credit = 1.0

    def is_known() -> bool:
        """Whether nothing that comes can change the first scene's end."""
        if len(held) < 2:
            return False
        return held[-1].span[1] - held[1].span[0] >= AHEAD or len(held) > MOST_HELD

    def merge() -> None:
        right = credit + rate * (held[-1].span[1] - held[0].span[0])
        held[:] = _merge_to(held, max(1, int(right + 1e-9)), most)

    def release() -> Scene:
        nonlocal credit
        first = held.pop(0)
        # What a slow part leaves over is not spent on a hasty one.
        credit = min(1.0, credit + rate * first.seconds - 1)
        return replace(first, seen=_thin(first.seen, most))

    for shot in shots:
        held.append(shot)
        _fold_back(held, config)
        while is_known():
            merge()
            if is_known():
                yield release()
    while held:
        merge()
        yield release()


def _fold_back(held: list[Scene], config: ScenesConfig) -> None:
    """Make the last shot part of the scene of the earliest shot in reach that it is like."""
    *scenes, shot = held
    behind = [(number, look) for number, each in enumerate(scenes) for look in each.looks]
    for number, look in behind[-REACH:]:
        fits = shot.span[1] - held[number].span[0] <= config.longest
        if fits and look @ shot.looks[-1] >= config.alike:
            held[number:] = [_join_all(held[number:], 2 * config.frames)]
            return


def _merge_to(scenes: Sequence[Scene], count: int, most: int) -> list[Scene]:
    """So many scenes at most: neighbours become one whose parting costs least, as in Ward's way."""
    merged = list(scenes)
    while len(merged) > count:
        costs = [_part(one, two) for one, two in pairwise(merged)]
        cheapest = int(np.argmin(costs))
        merged[cheapest : cheapest + 2] = [_join_all(merged[cheapest : cheapest + 2], 2 * most)]
    return merged


def _part(one: Scene, two: Scene) -> float:
    return (1 - one.compare(two)) * one.seconds * two.seconds / (one.seconds + two.seconds)


def _join_all(scenes: Sequence[Scene], most: int) -> Scene:
    first, *others = scenes
    for other in others:
        first = first.join(other, most)
    return first


def _thin(seen: FrameGrid, most: int) -> FrameGrid:
    """At most so many of the frames, evenly spread in time."""
    if len(seen.times) <= most:
        return seen
    return seen.select(Sampling(frames=most).choose(seen.times).tolist())


def group_scenes(
    scenes: Sequence[Span], meanings: Sequence[Float64Array], seconds: float
) -> tuple[Span, ...]:
    """Chapters of so many seconds on average: neighbours that mean most alike become one.

    `meanings` are vectors, one a scene. None where a single chapter would be all.
    """
    if not scenes:
        return ()
    count = round((scenes[-1][1] - scenes[0][0]) / seconds)
    parts = [(span, normalise(meaning)) for span, meaning in zip(scenes, meanings, strict=True)]
    while len(parts) > count > 1:
        costs = []
        for ((a, b), one), ((_, c), two) in pairwise(parts):
            costs.append(float(((one - two) ** 2).sum()) * (b - a) * (c - b) / (c - a))
        first = int(np.argmin(costs))
        ((a, b), one), ((_, c), two) = parts[first : first + 2]
        parts[first : first + 2] = [((a, c), (one * (b - a) + two * (c - b)) / (c - a))]
    return tuple(span for span, _ in parts) if count > 1 and len(parts) > 1 else ()
