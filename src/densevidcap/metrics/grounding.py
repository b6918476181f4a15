"""Are words and sentences where the things are that they name?

A case is a frame with the boxes of one thing in it, (M, 4) in fractions of the frame. A point is
right if it lies in any of them, and a box is as good as its largest IoU with one of them. What
that is worth is told by answers that look at nothing, beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from densevidcap.data.boxes import BoxArray, BoxFile, Case, measure_areas
from densevidcap.data.clip import PICTURES_PER_SECOND
from densevidcap.errors import CorpusError
from densevidcap.metrics.bootstrap import Interval, bootstrap_mean
from densevidcap.types import Box, Caption, RegionSequence

Values = npt.NDArray[np.float64]

GOOD = 0.5
"""IoU from which a box counts as found."""
SEEN = 0.4
"""Score from which a detector's boxes count for sentences."""
SMALL = 0.25
"""Share of the frame below which a case's things are small."""
PERSON = "person"
GROUPS = ("all", "persons", "things", "small")
STEPS = 10
"""Of the frame's width and height, at which the edges of constant boxes are tried."""
CENTRE = (0.5, 0.5)


@dataclass(frozen=True)
class Scores:
    """Of one way to answer, in a group of cases."""

    pointing: Interval | None
    """Share of cases whose point is on the thing."""
    iou: Interval | None
    """Mean over cases."""
    good: Interval | None
    """Share of cases whose IoU is at least `GOOD`."""


@dataclass(frozen=True)
class Group:
    cases: int
    clips: int
    scores: Mapping[str, Scores]
    """By who answers: ours first, then the answers that look at nothing."""


@dataclass(frozen=True)
class Grounding:
    constant: tuple[float, float, float, float]
    """The one box that fits all of these cases best: it was found on them, so it is flattered."""
    groups: Mapping[str, Group]
    """Those of `GROUPS` that have cases."""


def find_ious(boxes: BoxArray, others: BoxArray) -> Values:
    """Intersection over union, (…, 4) against (…, 4)."""
    low = np.maximum(boxes[..., :2], others[..., :2])
    high = np.minimum(boxes[..., 2:], others[..., 2:])
    shared = np.maximum(high - low, 0).prod(axis=-1)
    total = measure_areas(boxes) + measure_areas(others) - shared
    return np.asarray(np.divide(shared, total, out=np.zeros_like(total), where=total > 0))


def best_ious(boxes: BoxArray, things: BoxArray) -> Values:
    """(N, 4) against (M, 4): each one's largest IoU, (N,)."""
    return np.asarray(find_ious(boxes[:, None], things[None]).max(axis=1))


def are_on(points: Values, things: BoxArray) -> npt.NDArray[np.bool_]:
    """(N, 2) against (M, 4): whether each point lies in any of them, (N,)."""
    x, y = points[:, :1], points[:, 1:]
    left, top, right, bottom = things.T
    inside = (left <= x) & (x <= right) & (top <= y) & (y <= bottom)
    return np.asarray(inside.any(axis=1))


def find_centres(boxes: BoxArray) -> Values:
    """(N, 4) to (N, 2): x and y."""
    return np.asarray((boxes[:, :2] + boxes[:, 2:]) / 2)


def cover(things: BoxArray) -> float:
    """The share of the frame that lies in any of (M, 4): where a random point is right."""
    inside = things.clip(0, 1)
    x, y = np.unique(inside[:, 0::2]), np.unique(inside[:, 1::2])
    covered = np.zeros((len(y) - 1, len(x) - 1))
    columns, rows = np.searchsorted(x, inside[:, 0::2]), np.searchsorted(y, inside[:, 1::2])
    for (left, right), (top, bottom) in zip(columns, rows, strict=True):
        covered[top:bottom, left:right] = 1
    return float(np.diff(y) @ covered @ np.diff(x))


def find_constant(things: Sequence[BoxArray]) -> tuple[float, float, float, float]:
    """The box of the highest mean IoU with the cases, of all with edges on tenths of the frame."""
    starts = np.cumsum([0, *map(len, things[:-1])])
    together = np.concatenate(things)
    edges = [edge / STEPS for edge in range(STEPS + 1)]
    best, found = -1.0, (0.0, 0.0, 1.0, 1.0)
    for (left, right), (top, bottom) in product(combinations(edges, 2), repeat=2):
        ious = find_ious(np.array((left, top, right, bottom)), together)
        mean = float(np.maximum.reduceat(ious, starts).mean())
        if mean > best:
            best, found = mean, (left, top, right, bottom)
    return found


def measure_grounding(
    cases: Sequence[Case],
    points: Values,
    boxes: BoxArray,
    regions: Sequence[BoxArray],
    name: str = "ours",
) -> Grounding:
    """Where each of N cases was pointed at, (N, 2), and its box, (N, 4), beside empty answers.

    `regions` are those that each case's grid had to choose from, (R, 4).
    """
    things = [case.things for case in cases]
    constant = find_constant(things)
    middle, centre = np.array([constant]), np.array([CENTRE])
    answers: dict[str, list[Values]] = {
        name: [
            _judge(point, box, of_case)
            for point, box, of_case in zip(points[:, None], boxes[:, None], things, strict=True)
        ],
        "frame centre": [_judge(centre, None, of_case) for of_case in things],
        "constant box": [_judge(find_centres(middle), middle, each) for each in things],
        "random point": [np.array([cover(of_case), np.nan, np.nan]) for of_case in things],
        "random region": [
            _judge(find_centres(each), each, of_case)
            for each, of_case in zip(regions, things, strict=True)
        ],
    }
    values = {who: np.stack(of_cases) for who, of_cases in answers.items()}
    clips = np.array([case.clip for case in cases])
    groups = {}
    for group, chosen in _divide(cases).items():
        if chosen.any():
            own = clips[chosen].tolist()
            scores = {who: _average(each[chosen], own) for who, each in values.items()}
            groups[group] = Group(int(chosen.sum()), len(set(own)), scores)
    return Grounding(constant, groups)


def _judge(points: Values, boxes: BoxArray | None, things: BoxArray) -> Values:
    """(3,): hits, IoU and how often it is good, as means over (N, 2) points and (N, 4) boxes."""
    hits = are_on(points, things).mean()
    if boxes is None:
        return np.array([hits, np.nan, np.nan])
    ious = best_ious(boxes, things)
    return np.array([hits, ious.mean(), (ious >= GOOD).mean()])


def _divide(cases: Sequence[Case]) -> dict[str, npt.NDArray[np.bool_]]:
    persons = np.array([case.name == PERSON for case in cases])
    small = np.array([measure_areas(case.things).sum() < SMALL for case in cases])
    return dict(zip(GROUPS, (np.ones(len(cases), bool), persons, ~persons, small), strict=True))


def _average(values: Values, clips: Sequence[str]) -> Scores:
    """(N, 3) of that many cases; a column that is not known stays so."""
    known = (
        None if np.isnan(column).any() else bootstrap_mean(column, clips) for column in values.T
    )
    return Scores(*known)


def count_different(boxes: Iterable[BoxArray]) -> int:
    """How many different boxes there are among those of a clip's sentences, each (T, 4)."""
    return len({tuple(box) for of_sentence in boxes for box in of_sentence.tolist()})


def measure_steadiness(boxes: BoxArray) -> float | None:
    """Mean IoU of (T, 4) with those of the next frame; None where there is no next one."""
    if len(boxes) < 2:
        return None
    return float(find_ious(boxes[:-1], boxes[1:]).mean())


@dataclass(frozen=True)
class SentenceGrounding:
    """Of the boxes that clips' sentences came with."""

    found: Grounding
    """A case is a sentence, a class that it names, and a frame of it in which that is seen."""
    boxes: float
    """Of a clip, on average."""
    different: float
    """Those of them that are no repetition of another."""
    steadiness: float | None
    """IoU of a sentence's boxes in neighbouring frames; None if all are of one frame."""


def ground_sentences(said: Mapping[str, Sequence[Caption]], truth: BoxFile) -> SentenceGrounding:
    """Each clip's sentences against boxes of the things that they name."""
    cases, boxes, regions = [], [], []
    counts, different, steady = [], [], []
    for clip, captions in said.items():
        of_sentences = [_as_array(caption.boxes) for caption in captions]
        for caption, own in zip(captions, of_sentences, strict=True):
            grid, frames = caption.sequence.grid, find_frames(caption.sequence, truth)
            choice = _as_array(grid.box(region) for region in range(len(grid)))
            for name in truth.find_classes(caption.text):
                for frame, box in zip(frames, own, strict=True):
                    things = truth.find_things(clip, frame, name, SEEN)
                    if len(things):
                        cases.append(Case(clip, frame, name, (), things))
                        boxes.append(box)
                        regions.append(choice)
        counts.append(sum(map(len, of_sentences)))
        different.append(count_different(of_sentences))
        steady += [measure_steadiness(own) for own in of_sentences]
    if not cases:
        raise CorpusError(
            f"{truth.path}: no sentence names a thing that it has in a frame of the same clip; "
            "check that clips are called the same, and 'words' and 'frame_rate'"
        )
    together = np.stack(boxes)
    known = [each for each in steady if each is not None]
    return SentenceGrounding(
        measure_grounding(cases, find_centres(together), together, regions, "sentences"),
        float(np.mean(counts)),
        float(np.mean(different)),
        float(np.mean(known)) if known else None,
    )


def find_frames(sequence: RegionSequence, truth: BoxFile) -> Sequence[int]:
    """Which of the clip's frames, as the boxes count them, those of a sequence are."""
    if truth.frame_rate is None and sequence.source_frames is not None:
        return sequence.source_frames
    return [round(time * (truth.frame_rate or PICTURES_PER_SECOND)) for time in sequence.times]


def _as_array(boxes: Iterable[Box]) -> BoxArray:
    return np.array([astuple(box) for box in boxes])
