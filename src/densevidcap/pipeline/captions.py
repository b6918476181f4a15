"""From an analysis to captions: which sentences to say, of which region-sequence, and when.

Numbers only, so that a new k or another weight of diversity takes milliseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from densevidcap.config import BoxesConfig, ConfidenceConfig, ModelConfig
from densevidcap.data.lexicon import list_content_words
from densevidcap.decoding.select import Choice, choose, normalise
from densevidcap.pipeline.analysis import Analysis, Segment
from densevidcap.pipeline.scenes import group_scenes
from densevidcap.pipeline.wording import list_told, reword
from densevidcap.regions.boxes import fit_to_words
from densevidcap.regions.objectives import Float64Array
from densevidcap.regions.search import find_best_run
from densevidcap.types import (
    Candidates,
    Caption,
    DenseCaptions,
    Evidence,
    FloatArray,
    RegionSequence,
    Span,
    TimeArray,
)

RECENT = 12
"""Sentences before that another should not be like."""


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
    """Sentences of each segment that are good and differ, at most k, in order of choice.

    `diversity` is what sameness costs, `sure` the least confidence. What is not given is as it was
    set for the analysis.
    """
    given = {"selection.k": k, "selection.diversity": diversity, "selection.sure": sure}
    config = analysis.config.override({n: value for n, value in given.items() if value is not None})
    narration = Narration(
        replace(
            analysis,
            config=config,
            settings={**analysis.settings, **config.list_differences(analysis.config)},
        )
    )
    for segment in analysis.segments:
        narration.say(segment)
    return narration.finish()


class Narration:
    """Says what a clip shows, segment by segment.

    A segment has at most k sentences. Those of a film are as many as its length allows, and do not
    repeat what was said before.
    """

    def __init__(self, source: Analysis) -> None:
        self.source = source
        """Of its segments nothing is used but what `say` is given."""
        # Features without pictures have no size, and no scenes.
        self._is_film = source.width > 0 and source.config.frames.is_film(source.duration)
        self._credit = 0.0
        self._contents: set[frozenset[str]] = set()
        self._recent: deque[Float64Array] = deque(maxlen=RECENT)
        self._ranked: list[tuple[int, Caption]] = []
        self._silent: list[Span] = []
        self._scenes: list[tuple[Span, Float64Array]] = []

    def say(self, segment: Segment) -> list[Caption]:
        """The captions of the next segment, the best first."""
        config, span = self.source.config, (segment.start, segment.end)
        self._scenes.append((span, _find_topic(segment.candidates)))
        self._credit += config.scenes.sentences * (segment.end - segment.start) / 60
        if segment.is_blind and config.selection.silence:
            if self._silent and self._silent[-1][1] == span[0]:
                span = self._silent.pop()[0], span[1]
            self._silent.append(span)
            return []
        texts = word_sentences(segment, config)
        chosen = self._choose(segment, [list_told(text, config.wording) for text in texts])
        captions = [
            _describe(segment, *choice, texts[choice.candidate], config) for choice in chosen
        ]
        self._ranked += enumerate(captions)
        return captions

    def _choose(self, segment: Segment, contents: Sequence[frozenset[str]]) -> list[Choice]:
        """By what is told by the sentences as they are read."""
        config, candidates = self.source.config, segment.candidates
        selection = config.selection
        if not self._is_film:
            return choose(candidates, selection, contents)
        allowed = max(1, min(selection.k, int(self._credit + 1e-9)))
        is_new = np.array([content not in self._contents for content in contents])
        is_sure = candidates.confidence >= selection.sure
        if not is_new.any() or (is_sure.any() and not (is_new & is_sure).any()):
            # What is sure is said again rather than what is not, but no more than has to be.
            rows, allowed = np.arange(len(candidates)), 1
        else:
            rows = np.flatnonzero(is_new)
        fresh = candidates.select(rows.tolist())
        cost = config.scenes.repetition * self._find_likeness(fresh.meanings)
        fresh = replace(fresh, quality=(fresh.quality - cost).astype(np.float32))
        chosen = [
            Choice(int(rows[row]), sequence)
            for row, sequence in choose(
                fresh, replace(selection, k=allowed), [contents[int(row)] for row in rows]
            )
        ]
        for choice in chosen:
            self._contents.add(contents[choice.candidate])
            self._recent.append(normalise(candidates.meanings[choice.candidate]))
        self._credit = min(self._credit - len(chosen), float(selection.k))
        return chosen

    def _find_likeness(self, meanings: FloatArray) -> Float64Array:
        """(S,): the cosine to that of the last sentences which is nearest, 0 if none is near."""
        if not self._recent:
            return np.zeros(len(meanings))
        cosines = normalise(meanings) @ np.array(self._recent).T
        return np.asarray(np.maximum(cosines.max(axis=1), 0))

    def finish(self) -> DenseCaptions:
        """All that was said."""
        source = self.source
        # The best of every segment come first, the surest of them before the others.
        ranked = sorted(self._ranked, key=lambda each: (each[0], -each[1].confidence))
        scenes = tuple(span for span, _ in self._scenes) if self._is_film else ()
        topics = [topic for _, topic in self._scenes] if self._is_film else []
        return DenseCaptions(
            source=source.source,
            duration=source.duration,
            width=source.width,
            height=source.height,
            captions=tuple(caption for _, caption in ranked),
            model=source.model,
            model_version=source.model_version,
            settings=source.settings,
            silent=tuple(self._silent),
            scenes=scenes,
            chapters=group_scenes(scenes, topics, source.config.scenes.chapter),
        )


def _find_topic(candidates: Candidates) -> Float64Array:
    """(D,): what all sentences mean together, the surer the more."""
    return np.asarray(candidates.confidence @ normalise(candidates.meanings))


def _describe(segment: Segment, index: int, tie: int, text: str, config: ModelConfig) -> Caption:
    """The sentence of that index, read as `text`, of the region-sequence of that number."""
    candidates, edges = segment.candidates, _share_time(segment)
    sentence, whole = candidates.sentences[index], segment.sequence(tie)
    # What is not told, such as a gender that nothing shows, is not told as evidence either.
    evidence, unsupported = find_evidence(text, whole, segment, config.confidence.evidence)
    first, last = find_span(sentence, whole, evidence, segment, config.confidence)
    fitted = fit_sequence(sentence, whole, segment, config.boxes)
    return Caption(
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


def word_sentences(segment: Segment, config: ModelConfig) -> list[str]:
    """All sentences, as a person reads them."""
    known = frozenset(segment.words)

    @cache
    def find_peak(word: str) -> float:
        """P(people would name it), where the segment shows it best."""
        return float(segment.respond(word).max()) if word in known else 0.0

    return [reword(each, find_peak, config.wording) for each in segment.candidates.sentences]


def _share_time(segment: Segment) -> TimeArray:
    """(T + 1,): each frame stands for the time up to the middle between it and its neighbours."""
    middles = (segment.times[:-1] + segment.times[1:]) / 2
    return np.concatenate([[segment.start], middles, [segment.end]])
