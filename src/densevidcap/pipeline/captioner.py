"""The whole way from a clip to captions, on one screen."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from densevidcap.config import RegionsConfig
from densevidcap.data.clip import Clip, Size, open_clip
from densevidcap.data.lexicon import Lexicon, list_content_words
from densevidcap.data.sampling import Sampling, Shot, end_of
from densevidcap.data.shots import find_shots
from densevidcap.decoding.generate import BeamOptions, SampleOptions
from densevidcap.errors import ClipError, ModelError
from densevidcap.model_folder import BUNDLED, CARD
from densevidcap.models.evaluator import Evaluator
from densevidcap.models.streams import (
    ClipView,
    StreamSizes,
    extract_streams,
    find_stream,
    view_clip,
)
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.pipeline.analysis import Analysis, Segment
from densevidcap.pipeline.captions import choose_captions
from densevidcap.pipeline.confidence import Ranking
from densevidcap.pipeline.generator import CaptionGenerator, Shortlist, make_shortlist
from densevidcap.regions import generate_sequences
from densevidcap.types import DenseCaptions, FloatArray, FrameGrid, Frames

LONGEST = 60.0
"""Seconds: a longer clip is cut into its shots, and a longer shot into equal parts."""


def cut(clip: Clip, per_shot: bool | None = None) -> list[Shot]:
    """(start, end) of each segment, without gaps; `per_shot` None cuts long clips only."""
    end = end_of(clip.times())
    if per_shot is None:
        per_shot = end > LONGEST
    if not per_shot:
        return [(0.0, end)]
    return [part for shot in find_shots(clip) for part in _divide(shot)]


def _divide(shot: Shot) -> list[Shot]:
    start, end = shot
    parts = max(1, int(np.ceil((end - start) / LONGEST)))
    return list(pairwise(np.linspace(start, end, parts + 1).tolist()))


def sample_segment(clip: Clip, span: Shot, frames: int, size: Size) -> Frames | None:
    """Frames evenly spread over a segment; None if it has none that can be decoded."""
    times = clip.times()
    first, last = np.searchsorted(times, span).tolist()
    if first == last:
        return None
    chosen = first + Sampling(frames=frames).choose(times[first:last])
    # In place of a damaged frame comes the next intact one, maybe that of another segment.
    found = [(time, image) for time, image in clip.pick(chosen.tolist(), size) if time < span[1]]
    if not found:
        return None
    seconds, images = zip(*found, strict=True)
    return Frames(np.stack(images), np.array(seconds))


Stage = Literal["shots", "frames", "words", "regions", "sentences", "ranking"]
STAGES: tuple[Stage, ...] = get_args(Stage)
"""A clip's segments are found, and each then goes through the others."""

Report = Callable[[Stage, float], None]
"""Called when a stage begins, with the share of all work that is done, 0 to 1."""


@dataclass(frozen=True)
class AnalysisOptions:
    """How closely a clip is looked at."""

    frames: int = 30
    """Of each segment at most."""
    per_shot: bool | None = None
    """Whether each shot is described by itself; None: if the clip is longer than a minute."""
    sequences: int = 10
    """K region-sequences."""
    beam: int = 5
    """Beginnings of sentences that are kept at every word."""
    draws: int = 20
    """Sentences drawn at random for each region-sequence."""
    candidates: int = 100
    """Different sentences that are kept at most."""
    seed: int = 0
    """Of the draws: the same clip gets the same captions."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in ("per_shot", "seed") and value < 1:
                raise ModelError(f"{field.name} must be at least 1, not {value}")


DEFAULT_OPTIONS = AnalysisOptions()
RANKING = "ranking.json"
UNCALIBRATED = Ranking()


class DenseCaptioner:
    """A model of every stage."""

    def __init__(
        self,
        words: LexicalFCN,
        describer: CaptionGenerator,
        evaluator: Evaluator | None = None,
        ranking: Ranking = UNCALIBRATED,
        name: str = "unnamed",
        version: str = "",
    ) -> None:
        self.words, self.describer = words, describer
        self.evaluator, self.ranking = evaluator, ranking
        self.name, self.version = name, version
        self._inputs = _count_inputs(describer, evaluator)
        categories = len(describer.classifier.categories) if describer.classifier else 0
        eyes = words.encoder
        sizes = StreamSizes(eyes.channels, self._inputs, categories, eyes.frame_channels)
        streams = describer.captioner.options.frame_streams
        if any(find_stream(name).width(sizes) != width for name, width in streams.items()):
            raise ModelError(f"{name}: words and sentences do not fit; train one on the other")

    @classmethod
    def load(cls, folder: Path | str | None = None) -> DenseCaptioner:
        """The model of that folder, or the one that comes with the package.

        It has a folder for each stage: `words`, `sentences` and, if there is one, `evaluator`; and
        a file on how sentences rank.
        """
        folder = BUNDLED if folder is None else Path(folder)
        stages = [folder / stage for stage in ("words", "sentences", "evaluator")]
        words, sentences, evaluator = stages
        digest = hashlib.sha256()
        for card in (stage / CARD for stage in stages):
            digest.update(card.read_bytes() if card.is_file() else b"")
        return cls(
            LexicalFCN.load(words),
            CaptionGenerator.load(sentences),
            Evaluator.load(evaluator) if evaluator.is_dir() else None,
            Ranking.load(folder / RANKING),
            folder.resolve().name,
            digest.hexdigest()[:12],
        )

    def caption(
        self,
        source: Path | str | Clip,
        *,
        k: int = 5,
        diversity: float = 0.4,
        options: AnalysisOptions = DEFAULT_OPTIONS,
    ) -> DenseCaptions:
        """k sentences of a clip, or of each of its shots, ranked by confidence."""
        clip = source if isinstance(source, Clip) else open_clip(source)
        return choose_captions(self.analyse(clip, options), k, diversity)

    def analyse(
        self,
        clip: Clip,
        options: AnalysisOptions = DEFAULT_OPTIONS,
        report: Report = lambda *_: None,
    ) -> Analysis:
        """Look at each segment, and keep what choosing captions needs. Holds one at a time."""
        report("shots", 0.0)
        spans = cut(clip, options.per_shot)
        size = self.words.encoder.size
        segments = []
        for number, span in enumerate(spans):

            def begin(stage: Stage, number: int = number) -> None:
                done = (STAGES.index(stage) - 1) / (len(STAGES) - 1)
                report(stage, (number + done) / len(spans))

            begin("frames")
            frames = sample_segment(clip, span, options.frames, size)
            if frames is None:
                continue
            begin("words")
            seen = self.words.read(frames)
            extracted = extract_streams(self.describer.streams, clip, frames.times, span)
            segments.append(self.describe(seen, span, options, len(spans) == 1, begin, extracted))
        if not segments:
            raise ClipError(f"{clip.name}: no frame can be decoded; is the file complete?")
        return Analysis(
            source=clip.name,
            duration=end_of(clip.times()),
            width=clip.info.width,
            height=clip.info.height,
            model=self.name,
            model_version=self.version,
            segments=tuple(segments),
        )

    def describe(
        self,
        seen: FrameGrid,
        span: Shot,
        options: AnalysisOptions = DEFAULT_OPTIONS,
        keep_lexicon: bool = True,
        begin: Callable[[Stage], None] = lambda _: None,
        extracted: Mapping[str, FloatArray] | None = None,
    ) -> Segment:
        """A segment from what the Lexical-FCN saw in its frames, and streams of its own.

        `keep_lexicon` keeps the probabilities of all words, and not only of those that are said.
        """
        begin("regions")
        sequences = generate_sequences(seen, RegionsConfig(k=options.sequences))
        view = view_clip(seen, sequences, self._inputs, extracted)
        short = self.shortlist(view, options, begin)
        lexicon = self.words.lexicon
        places = list(range(len(lexicon))) if keep_lexicon else _list_said(short.sentences, lexicon)
        return Segment(
            *span,
            grid=seen.grid,
            times=seen.times,
            words=tuple(lexicon.words[place] for place in places),
            probabilities=seen.probabilities[:, :, places].astype(np.float16),
            paths=view.paths,
            sentences=short.sentences,
            likelihoods=short.likelihoods,
            affinities=short.affinities,
            quality=short.quality,
            fit=short.fit,
            confidence=self.ranking.rate(short.quality, short.fit),
            meanings=short.meanings,
        )

    def shortlist(
        self,
        view: ClipView,
        options: AnalysisOptions = DEFAULT_OPTIONS,
        begin: Callable[[Stage], None] = lambda _: None,
    ) -> Shortlist:
        """The sentences of a clip to choose from."""
        begin("sentences")
        beams, draws = BeamOptions(options.beam), SampleOptions(options.draws, seed=options.seed)
        found = self.describer.propose(view, beams, draws)
        begin("ranking")
        words, most = self.words.lexicon.words, options.candidates
        return make_shortlist(found, view, self.describer, self.evaluator, words, most)


def _count_inputs(describer: CaptionGenerator, evaluator: Evaluator | None) -> int:
    """V: of how many words the language model and the evaluator take probabilities."""
    streams = describer.captioner.options.whole_streams
    counts = {streams[name] for name in ("words", "special_words", "clip_words") if name in streams}
    if describer.classifier is not None:
        counts.add(describer.classifier.sizes[1])
    if evaluator is not None:
        counts.add(evaluator.network.sizes[1])
    if len(counts) > 1:
        raise ModelError("sentences and evaluator take different words; train both with the same")
    return counts.pop() if counts else 1


def _list_said(sentences: Sequence[str], lexicon: Lexicon) -> list[int]:
    """The places of content words that any sentence says."""
    said = {word for sentence in sentences for word in list_content_words(sentence)}
    return sorted(lexicon.index[word] for word in said if word in lexicon.index)
