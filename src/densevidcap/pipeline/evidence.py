"""What speaks for a sentence: its words, where the region-sequence that it is about shows them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from densevidcap.data.content import list_content_words
from densevidcap.pipeline.analysis import Segment
from densevidcap.records import Evidence, FloatArray, RegionSequence
from densevidcap.regions.objectives import THRESHOLD
from densevidcap.regions.spans import find_best_run

LEAST = THRESHOLD
"""A word has evidence from this probability on."""
LEVEL = 0.3
"""A sentence holds where its words show at least so well, as a share of where they do best."""
SMOOTH = 5
"""Frames over which that is averaged: what one frame seems to show is noise."""


def find_evidence(
    sentence: str, sequence: RegionSequence, segment: Segment, least: float = LEAST
) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """Evidence for the content words, the best first, and those words that have none."""
    found, missing = [], []
    for word in dict.fromkeys(list_content_words(sentence)):
        evidence = _look_for(word, sequence, segment) if word in segment.words else None
        if evidence is not None and evidence.probability >= least:
            found.append(evidence)
        else:
            missing.append(word)
    return tuple(sorted(found, key=lambda each: -each.probability)), tuple(missing)


def find_span(
    sentence: str, sequence: RegionSequence, evidence: Sequence[Evidence], segment: Segment
) -> tuple[int, int]:
    """(first, last) of the frames in which the sequence shows what the sentence says.

    Weak words count too, by what they have above their usual: a sentence without a clear place in
    time holds throughout. Every word's evidence lies in the span.
    """
    words = [word for word in list_content_words(sentence) if word in segment.words]
    shown = sum(
        (_follow(word, sequence, segment) for word in words), np.zeros(len(sequence.frames))
    )
    steady = np.convolve(np.pad(shown, SMOOTH // 2, "edge"), np.full(SMOOTH, 1 / SMOOTH), "valid")
    start, stop = find_best_run(steady - LEVEL * steady.max())
    frames = [start, stop - 1, *(each.frame for each in evidence)]
    return min(frames), max(frames)


def _follow(word: str, sequence: RegionSequence, segment: Segment) -> FloatArray:
    """(T,): P(word | region) along the sequence."""
    return segment.respond(word)[list(sequence.frames), list(sequence.regions)]


def _look_for(word: str, sequence: RegionSequence, segment: Segment) -> Evidence:
    """Where along the sequence the word is most probable."""
    responses = _follow(word, sequence, segment)
    best = int(responses.argmax())
    return Evidence(
        word=word,
        probability=float(responses[best]),
        frame=sequence.frames[best],
        region=sequence.regions[best],
        time=sequence.times[best],
        box=sequence.boxes[best],
    )
