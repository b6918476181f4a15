"""What there is to learn of a clip: its captions, and other sentences that fit it less or more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from densevidcap.regions.objectives import IndexArray
from densevidcap.rerank.consensus import Consensus
from densevidcap.rerank.evidence import Evidence

Words = tuple[int, ...]


@dataclass(frozen=True)
class Lesson:
    """A clip and what was said of it."""

    clip: str
    evidence: Evidence
    captions: Sequence[str]
    sequences: IndexArray
    """(S,): the region-sequence that each caption describes."""
    category: str | None = None
    weaker: Sequence[str] = ()
    """What a captioner says of the clip."""


class Graded(NamedTuple):
    """A sentence and what it is worth to a clip."""

    words: Words
    worth: float


class Pair(NamedTuple):
    """A caption, its clip and its region-sequence."""

    clip: int
    sequence: int
    said: Graded


def grade_sentences(
    lessons: Sequence[Lesson], encode: Callable[[str], Words], strangers: int, seed: int
) -> tuple[list[Pair], list[list[Graded]]]:
    """Every caption, and for every clip its rivals.

    These are all its captions, what the captioner says, and so many `strangers`: captions of other
    clips, drawn from those of the same category if there are any.
    """
    random = np.random.default_rng(seed)
    consensus = Consensus({lesson.clip: lesson.captions for lesson in lessons})
    alike = defaultdict(list)
    for clip, lesson in enumerate(lessons):
        alike[lesson.category].append(clip)
    pairs: list[Pair] = []
    rivals: list[list[Graded]] = []
    for clip, lesson in enumerate(lessons):
        kin = alike[lesson.category] if len(alike[lesson.category]) > 1 else range(len(lessons))
        drawn = _draw_others(clip, kin, strangers, random)
        others = [str(random.choice(lessons[other].captions)) for other in drawn]
        graded = [
            Graded(encode(sentence), consensus.weigh(lesson.clip, sentence))
            for sentence in (*lesson.captions, *lesson.weaker, *others)
        ]
        pairs += [
            Pair(clip, int(sequence), said)
            for sequence, said in zip(lesson.sequences, graded[: len(lesson.captions)], strict=True)
        ]
        rivals.append(graded)
    return pairs, rivals


def _draw_others(
    clip: int, among: Sequence[int], count: int, random: np.random.Generator
) -> list[int]:
    """Any of them but the clip itself."""
    place = among.index(clip)
    steps = random.integers(1, len(among), size=count)
    return [among[(place + int(step)) % len(among)] for step in steps]
