"""From an analysis to captions: which sentences to say, of which region-sequence, and when.

Numbers only, so that a new k or another weight of diversity takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from densevidcap.config import BoxesConfig, ConfidenceConfig, ModelConfig
from densevidcap.data.lexicon import list_content_words
from densevidcap.decoding.select import choose
from densevidcap.pipeline.analysis import Analysis, Segment
from densevidcap.pipeline.wording import reword
from densevidcap.regions.boxes import fit_to_words
from densevidcap.regions.search import find_best_run
from densevidcap.types import (
    Caption,
    DenseCaptions,
    Evidence,
    RegionSequence,
    TimeArray,
)


def find_evidence(
    sentence: str, sequence: RegionSequence, segment: Segment, least: float
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
    sentence: str,
    sequence: RegionSequence,
    evidence: Sequence[Evidence],
    segment: Segment,
    config: ConfidenceConfig,
) -> tuple[int, int]:
    """(first, last) of the frames in which the sequence shows what the sentence says.

    Weak words count too, by what they have above their usual: a sentence without a clear place in
    time holds throughout. Every word's evidence lies in the span.
    """
    words = [word for word in list_content_words(sentence) if word in segment.words]
    shown = sum(
        (sequence.follow(segment.respond(word)) for word in words), np.zeros(len(sequence.times))
    )
    smooth = config.smooth
    padded = np.pad(shown, (smooth // 2, (smooth - 1) // 2), "edge")
    steady = np.convolve(padded, np.full(smooth, 1 / smooth), "valid")
    start, stop = find_best_run(steady - config.level * steady.max())
    shown_best = (int(sequence.follow(segment.respond(each.word)).argmax()) for each in evidence)
    frames = [start, stop - 1, *shown_best]
    return min(frames), max(frames)


def _look_for(word: str, sequence: RegionSequence, segment: Segment) -> Evidence:
    """Where along the sequence the word is most probable."""
    responses = sequence.follow(segment.respond(word))
    best, source_frames = int(responses.argmax()), sequence.source_frames
    return Evidence(
        word=word,
        probability=float(responses[best]),
        region=sequence.regions[best],
        time=sequence.times[best],
        box=sequence.grid_boxes[best],
        source_frame=None if source_frames is None else source_frames[best],
    )


def fit_sequence(
    sentence: str, sequence: RegionSequence, segment: Segment, config: BoxesConfig
) -> RegionSequence:
    """The sequence with boxes that are fitted to what the sentence names."""
    close = segment.close_up
    maps = [] if close is None else [close.map(word) for word in list_content_words(sentence)]
    known = [each for each in maps if each is not None]
    if close is None or config.fit == "grid" or not known:
        return sequence
    patches = close.patches.astype(np.float32)
    boxes = fit_to_words(np.sum(known, axis=0), close.grid, patches, config, sequence)
    return replace(sequence, fitted=boxes)


def choose_captions(
    analysis: Analysis,
    k: int | None = None,
    diversity: float | None = None,
    sure: float | None = None,
) -> DenseCaptions:
    """At most k sentences of each segment that are good and differ, in order of choice.

    `diversity` is what sameness costs, `sure` the least confidence. What is not given is as it was
    set for the analysis.
    """
    given = {"selection.k": k, "selection.diversity": diversity, "selection.sure": sure}
    config = analysis.config.override({n: value for n, value in given.items() if value is not None})
    ranked: list[tuple[int, Caption]] = []
    silent: list[tuple[float, float]] = []
    for segment in analysis.segments:
        if segment.is_blind and config.selection.silence:
            silent.append((segment.start, segment.end))
        else:
            ranked += enumerate(_describe(segment, config))
    # The best of every segment come first, the surest of them before the others.
    ranked.sort(key=lambda each: (each[0], -each[1].confidence))
    return DenseCaptions(
        source=analysis.source,
        duration=analysis.duration,
        width=analysis.width,
        height=analysis.height,
        captions=tuple(caption for _, caption in ranked),
        model=analysis.model,
        model_version=analysis.model_version,
        settings={**analysis.settings, **config.list_differences(analysis.config)},
        silent=tuple(silent),
    )


def _describe(segment: Segment, config: ModelConfig) -> Iterator[Caption]:
    candidates = segment.candidates
    edges = _share_time(segment)
    for index, tie in choose(candidates, config.selection):
        sentence, whole = candidates.sentences[index], segment.sequence(tie)
        least = config.confidence.evidence
        # What is not told, such as a gender that nothing shows, is not told as evidence either.
        text = reword(sentence, lambda name: _find_peak(name, segment), config.wording)
        evidence, unsupported = find_evidence(text, whole, segment, least)
        first, last = find_span(sentence, whole, evidence, segment, config.confidence)
        fitted = fit_sequence(sentence, whole, segment, config.boxes)
        yield Caption(
            text=text,
            raw=sentence,
            confidence=float(candidates.confidence[index]),
            log_probability=float(candidates.likelihoods[index, tie]),
            start=float(edges[first]),
            end=float(edges[last + 1]),
            sequence=fitted.select(range(first, last + 1)),
            evidence=evidence,
            unsupported=unsupported,
        )


def _find_peak(word: str, segment: Segment) -> float:
    """P(people would name it), where the segment shows it best."""
    return float(segment.respond(word).max()) if word in segment.words else 0.0


def _share_time(segment: Segment) -> TimeArray:
    """(T + 1,): each frame stands for the time up to the middle between it and its neighbours."""
    middles = (segment.times[:-1] + segment.times[1:]) / 2
    return np.concatenate([[segment.start], middles, [segment.end]])
