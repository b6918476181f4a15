"""Is what is said right, does confidence tell where it is, and do sentences name what is there?

A content word is right if any reference of the clip has it. A sentence is all right if every one of
its content words is, and bad if half of them or fewer are. That alone can be had by saying nothing,
so how much is said stands beside it, and what people and a constant sentence would have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np
import numpy.typing as npt

from densevidcap.data.boxes import SURE, BoxFile
from densevidcap.data.lexicon import find_precision, list_content_words
from densevidcap.errors import CorpusError
from densevidcap.metrics.bootstrap import Interval, bootstrap_mean
from densevidcap.metrics.grounding import PERSON, best_ious, find_frames
from densevidcap.types import Caption

Values = npt.NDArray[np.float64]
Captions = Mapping[str, Sequence[Caption]]
"""Of each clip, in order; none where nothing is said of it."""
References = Mapping[str, Sequence[str]]

ALL_RIGHT = 0.999
BAD = 0.5
PARTS = 10
"""Of equal size, by confidence, in which what was said is compared with what was true."""
CONSTANT = "a man"
"""What would be right most often if it were said of every clip."""
ON_IT = 0.3
"""IoU from which a sentence's box counts as one of the thing."""


@dataclass(frozen=True)
class Shares:
    """Of sentences, with intervals over clips."""

    precision: Interval
    """The share of a sentence's content words that are right, on average."""
    right: Interval
    """Sentences that are all right."""
    bad: Interval

    @classmethod
    def of(cls, precisions: Values, clips: Sequence[str]) -> Shares:
        parts = precisions, precisions > ALL_RIGHT, precisions <= BAD
        return cls(*(bootstrap_mean(part.astype(np.float64), clips) for part in parts))


@dataclass(frozen=True)
class Part:
    """Sentences of similar confidence."""

    said: float
    """Their mean confidence."""
    true: float
    """The share of them that is all right."""


@dataclass(frozen=True)
class Reliability:
    clips: int
    silent: int
    """Clips of which nothing is said."""
    sentences: float
    """Of a clip, on average, silent ones included."""
    length: float
    """Content words of a sentence."""
    shares: Mapping[str, Shares]
    """Ours, the surer half of ours, and beside them people and a constant sentence."""
    auc: float | None
    """How often a sentence that is all right has more confidence than one that is not; None where
    all are, or none is."""
    calibration_error: float
    """Mean distance of confidence and truth over the parts."""
    parts: Sequence[Part]


def measure_reliability(said: Captions, references: References) -> Reliability:
    """Each clip's captions against what people said of it."""
    rows = [(clip, caption) for clip, captions in said.items() for caption in captions]
    if not rows:
        raise CorpusError("nothing is said of any clip: there is no sentence to be right or wrong")
    known = {clip: _list_words(references[clip]) for clip in said}
    clips = [clip for clip, _ in rows]
    precisions = np.array([find_precision(caption.text, known[clip]) for clip, caption in rows])
    confidence = np.array([caption.confidence for _, caption in rows])
    is_right = precisions > ALL_RIGHT
    surer = np.flatnonzero(confidence >= np.quantile(confidence, 0.5))
    parts = _divide(confidence, is_right)
    shares = {
        "sentences": Shares.of(precisions, clips),
        "surer half": Shares.of(precisions[surer], [clips[row] for row in surer]),
        f'"{CONSTANT}"': Shares.of(
            np.array([find_precision(CONSTANT, words) for words in known.values()]), [*known]
        ),
    }
    if people := _judge_people({clip: references[clip] for clip in said}):
        shares["people"] = people
    return Reliability(
        clips=len(said),
        silent=sum(not captions for captions in said.values()),
        sentences=len(rows) / len(said),
        length=float(np.mean([len(list_content_words(caption.text)) for _, caption in rows])),
        shares=shares,
        auc=find_auc(confidence, is_right),
        calibration_error=float(np.mean([abs(part.said - part.true) for part in parts])),
        parts=parts,
    )


def find_auc(scores: Values, positive: npt.NDArray[np.bool_]) -> float | None:
    """P(a positive has the higher score than a negative); equal ones count half."""
    if positive.all() or not positive.any():
        return None
    negatives = np.sort(scores[~positive])
    below = np.searchsorted(negatives, scores[positive], "left")
    up_to = np.searchsorted(negatives, scores[positive], "right")
    return float((below + up_to).mean() / (2 * len(negatives)))


def _divide(confidence: Values, is_right: npt.NDArray[np.bool_]) -> list[Part]:
    order = np.argsort(confidence, kind="stable")
    parts = (part for part in np.array_split(order, PARTS) if len(part))
    return [Part(float(confidence[p].mean()), float(is_right[p].mean())) for p in parts]


def _judge_people(references: References) -> Shares | None:
    """Each reference against the others of its clip; None if no clip has two."""
    precisions, clips = [], []
    for clip, sentences in references.items():
        words = [_list_words([sentence]) for sentence in sentences]
        for place, sentence in enumerate(sentences):
            others = words[:place] + words[place + 1 :]
            if words[place] and others:
                precisions.append(find_precision(sentence, frozenset().union(*others)))
                clips.append(clip)
    return Shares.of(np.array(precisions), clips) if clips else None


def _list_words(sentences: Sequence[str]) -> frozenset[str]:
    return frozenset(word for sentence in sentences for word in list_content_words(sentence))


@dataclass(frozen=True)
class NamedThings:
    """Classes of things, but for persons, that are in clips and in what is said of them."""

    there: int
    """Classes that a detector is sure of, clip by clip."""
    covered: float | None
    """Those of them that a sentence names."""
    boxed: float | None
    """Those that a sentence names with a box on the thing."""
    told: float | None
    """Those that people name."""
    named: int
    """Classes that sentences name, clip by clip."""
    invented: float | None
    """Those of them that neither a person names nor the detector sees."""


def measure_things(said: Captions, references: References, truth: BoxFile) -> NamedThings:
    """What sentences name against what is there."""
    covered, boxed, told, invented = [], [], [], []
    for clip, captions in said.items():
        named = [(caption, set(truth.find_classes(caption.text))) for caption in captions]
        by_people = {name for text in references[clip] for name in truth.find_classes(text)}
        things = [thing for frame in truth.clips.get(clip, {}).values() for thing in frame]
        seen = {thing.name for thing in things} - {PERSON}
        sure = {thing.name for thing in things if thing.score >= SURE} - {PERSON}
        for name in sorted(sure):
            naming = [caption for caption, classes in named if name in classes]
            covered.append(bool(naming))
            boxed.append(any(_is_on(caption, clip, name, truth) for caption in naming))
            told.append(name in by_people)
        classes = {name for _, of_sentence in named for name in of_sentence} - {PERSON}
        invented += [name not in seen and name not in by_people for name in classes]
    return NamedThings(
        there=len(covered),
        covered=_mean(covered),
        boxed=_mean(boxed),
        told=_mean(told),
        named=len(invented),
        invented=_mean(invented),
    )


def _is_on(caption: Caption, clip: str, name: str, truth: BoxFile) -> bool:
    """Whether a box of the sentence lies on such a thing, in any frame."""
    for frame, box in zip(find_frames(caption.sequence, truth), caption.boxes, strict=True):
        things = truth.find_things(clip, frame, name, SURE)
        if len(things) and best_ious(np.array([astuple(box)]), things)[0] >= ON_IT:
            return True
    return False


def _mean(values: Sequence[bool]) -> float | None:
    return float(np.mean(values)) if values else None
