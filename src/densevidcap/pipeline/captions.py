"""From an analysis to captions: which sentences to say, of which region-sequence, and when.

Numbers only, so that a new k or another weight of diversity takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from densevidcap.language.choosing import Choice, ChoiceOptions, choose
from densevidcap.pipeline.analysis import Analysis, Segment
from densevidcap.pipeline.evidence import LEAST, find_evidence, find_span
from densevidcap.records import Caption, DenseCaptions, RegionSequence, TimeArray


def choose_captions(
    analysis: Analysis, k: int = 5, diversity: float = 0.4, support: float = LEAST
) -> DenseCaptions:
    """The k sentences of each segment that are good and differ, ranked by confidence.

    `diversity` is what sameness costs; `support` is the probability from which on a word counts as
    evidence.
    """
    captions: list[Caption] = []
    looked_at = 0
    for segment in analysis.segments:
        captions += _describe(segment, looked_at, ChoiceOptions(k, diversity), support)
        looked_at += len(segment.times)
    return DenseCaptions(
        source=analysis.source,
        duration=analysis.duration,
        width=analysis.width,
        height=analysis.height,
        captions=tuple(sorted(captions, key=lambda caption: -caption.confidence)),
        model=analysis.model,
        model_version=analysis.model_version,
    )


def choose_from(segment: Segment, options: ChoiceOptions) -> list[Choice]:
    return choose(segment.sentences, segment.quality, segment.meanings, segment.affinities, options)


def _describe(
    segment: Segment, looked_at: int, options: ChoiceOptions, support: float
) -> Iterator[Caption]:
    """A segment's captions, whose frames are counted from `looked_at` on."""
    chosen = choose_from(segment, options)
    edges = _share_time(segment)
    for place, tie in chosen:
        sentence, whole = segment.sentences[place], segment.sequence(tie)
        evidence, unsupported = find_evidence(sentence, whole, segment, support)
        first, last = find_span(sentence, whole, evidence, segment)
        yield Caption(
            text=sentence,
            confidence=float(segment.confidence[place]),
            log_probability=float(segment.likelihoods[place, tie]),
            start=float(edges[first]),
            end=float(edges[last + 1]),
            sequence=RegionSequence(
                whole.grid,
                tuple(range(looked_at + first, looked_at + last + 1)),
                whole.regions[first : last + 1],
                whole.times[first : last + 1],
            ),
            evidence=tuple(replace(each, frame=looked_at + each.frame) for each in evidence),
            unsupported=unsupported,
        )


def _share_time(segment: Segment) -> TimeArray:
    """(T + 1,): each frame stands for the time up to the middle between it and its neighbours."""
    middles = (segment.times[:-1] + segment.times[1:]) / 2
    return np.concatenate([[segment.start], middles, [segment.end]])
