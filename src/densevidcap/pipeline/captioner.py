"""The whole way from a clip to captions, on one screen."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import torch
from torch import nn

from densevidcap.config import ModelConfig
from densevidcap.data.clip import Clip, open_clip
from densevidcap.data.lexicon import Lexicon, list_content_words
from densevidcap.data.sampling import Shot, end_of
from densevidcap.data.shots import cut, is_cut, is_film, sample_segment
from densevidcap.decoding.select import find_affinities
from densevidcap.errors import ClipError, ModelError
from densevidcap.model_folder import BUNDLED, CARD, STAGES, read_model_config
from densevidcap.models.device import device_of, resolve_device
from densevidcap.models.evaluator import Evaluator, load_evaluator
from densevidcap.models.shown_words import score_clip
from densevidcap.models.streams import StreamSizes, extract_streams, find_stream
from densevidcap.models.views import ClipView, view_clip
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.pipeline.analysis import Analysis, CloseUp, HalfArray, Segment
from densevidcap.pipeline.captions import Narration
from densevidcap.pipeline.confidence import Trust
from densevidcap.pipeline.generator import CaptionGenerator, cost_words
from densevidcap.pipeline.scenes import Scene, gather_scenes
from densevidcap.pipeline.shown import Shown
from densevidcap.pipeline.traits import find_traits
from densevidcap.regions import generate_sequences
from densevidcap.regions.boxes import reduce_patches
from densevidcap.regions.search import pool_words
from densevidcap.types import (
    Candidates,
    Caption,
    DenseCaptions,
    FloatArray,
    FrameGrid,
    Hypothesis,
)

Step = Literal["shots", "frames", "words", "regions", "sentences", "ranking"]
STEPS: tuple[Step, ...] = get_args(Step)
"""A clip's segments are found, and each then goes through the others."""

Report = Callable[[Step, float], None]
"""Called when a step begins, with the share of all work that is done, 0 to 1."""

Watch = Callable[[FrameGrid, Shot], None]
"""Called with what the Lexical-FCN saw in each segment, of which an analysis keeps only a part."""

Tell = Callable[[Segment, Sequence[Caption]], None]
"""Called with each segment and what is said of it, while the rest of the clip is still unread."""

SPREAD = 5.0
"""What brings an evaluator's scores of a clip's sentences about as far apart as their agreement."""

RANKING = "ranking.json"
UNCALIBRATED = Trust()

KEYWORDS = {
    "k": "selection.k",
    "diversity": "selection.diversity",
    "frames": "frames.most",
    "beam": "decoding.beam",
    "seed": "decoding.seed",
    "sure": "selection.sure",
    "per_shot": "frames.per_shot",
}
"""Short names of settings that are often changed."""
RAW: Mapping[str, Any] = {
    "wording.case": "raw",
    "wording.looks": True,
    "wording.gender": "said",
    "wording.topics": "said",
    "wording.english": "said",
    "selection.sure": 0.0,
    "selection.news": 0,
    "selection.silence": False,
}
"""Every sentence as the captioner says it, however sure it is: what metrics of captions expect."""
FAST: Mapping[str, Any] = {
    "frames.most": 6,
    "decoding.samples": 10,
    "decoding.mentions": 4,
    "decoding.candidates": 50,
}
"""Fewer frames and fewer sentences to choose from: what it costs is in docs/captioning.md."""
FREE = (
    "engine",
    "frames",
    "scenes",
    "regions",
    "boxes",
    "decoding",
    "selection",
    "wording",
    "confidence",
    "captioner.most_frames",
)
"""What can be set anew for a clip; all else was fixed in training."""


Loaded = TypeVar("Loaded", bound="DenseCaptioner")


def name_settings(**keywords: Any) -> dict[str, Any]:
    """Settings by their dotted names, of `KEYWORDS`; None leaves one as the model has it."""
    given = {KEYWORDS[name]: value for name, value in keywords.items() if value is not None}
    shots = given.get("frames.per_shot")
    if isinstance(shots, bool):
        given["frames.per_shot"] = "always" if shots else "never"
    return given


class DenseCaptioner:
    """A model of every stage, and the config that it is used by."""

    def __init__(
        self,
        config: ModelConfig,
        words: LexicalFCN,
        generator: CaptionGenerator,
        evaluator: Evaluator | None = None,
        trust: Trust = UNCALIBRATED,
        name: str = "unnamed",
        version: str = "",
    ) -> None:
        self.config, self.words, self.generator = config, words, generator
        self.evaluator, self.trust = evaluator, trust
        self.name, self.version = name, version
        self._inputs = _count_inputs(generator, evaluator)
        classifier, eyes = generator.classifier, words.encoder
        categories = len(classifier.categories) if classifier else 0
        sizes = StreamSizes(eyes.channels, self._inputs, categories, eyes.frame_channels)
        widths = generator.captioner.widths.frame_level
        if any(find_stream(name).width(sizes) != width for name, width in widths.items()):
            raise ModelError(f"{name}: words and sentences do not fit; train one on the other")

    @classmethod
    def load(
        cls: type[Loaded],
        folder: Path | str | None = None,
        device: str | None = None,
        config: ModelConfig | None = None,
    ) -> Loaded:
        """The model of that folder, or the one that comes with the package.

        It has a folder for each stage: `words`, `sentences` and, if there is one, `evaluator`; a
        file on how sentences rank; and a card, whose config is taken unless another is given.
        """
        folder = BUNDLED if folder is None else Path(folder)
        config = config or read_model_config(folder)
        if device is not None:
            config = config.override({"device": device})
        words, sentences, evaluator = (folder / stage for stage in STAGES)
        digest = hashlib.sha256()
        for card in (folder / stage / CARD for stage in STAGES):
            digest.update(card.read_bytes() if card.is_file() else b"")
        model = cls(
            config,
            LexicalFCN.load(words),
            CaptionGenerator.load(sentences),
            load_evaluator(evaluator) if evaluator.is_dir() else None,
            Trust.load(folder / RANKING),
            folder.resolve().name,
            digest.hexdigest()[:12],
        )
        model.to(resolve_device(config.device))
        return model

    def to(self, device: torch.device) -> None:
        """Move every network there."""
        networks: list[nn.Module | None] = [self.words, self.generator.captioner]
        networks.append(self.generator.classifier)
        for network in networks:
            if network is not None:
                network.to(device)
        if self.evaluator is not None:
            self.evaluator.to(device)
        for stream in self.generator.extracted.values():
            stream.to(device, self.config.engine)

    def caption(
        self,
        source: Path | str | Clip,
        *,
        k: int | None = None,
        diversity: float | None = None,
        frames: int | None = None,
        beam: int | None = None,
        seed: int | None = None,
        sure: float | None = None,
        per_shot: bool | None = None,
        fast: bool = False,
        settings: Mapping[str, Any] | None = None,
    ) -> DenseCaptions:
        """At most k sentences of a clip, or of each of its shots, the best first.

        What is given overrides the model's config: `settings` by dotted names, as in
        {"decoding.samples": 0}, and that overrides what `fast` means. The result says what was set
        otherwise.
        """
        given = name_settings(
            k=k,
            diversity=diversity,
            frames=frames,
            beam=beam,
            seed=seed,
            sure=sure,
            per_shot=per_shot,
        )
        clip = source if isinstance(source, Clip) else open_clip(source)
        chosen = {**(FAST if fast else {}), **given, **(settings or {})}
        return self.narrate(clip, chosen).finish()

    def narrate(
        self,
        clip: Clip,
        settings: Mapping[str, Any] | None = None,
        report: Report = lambda *_: None,
        watch: Watch = lambda *_: None,
        tell: Tell = lambda *_: None,
    ) -> Narration:
        """Caption each segment as soon as it is read, and keep no more of it than what is said."""
        narration = Narration(self._open_analysis(clip, settings))
        for segment in self.describe_segments(clip, narration.source.config, report, watch):
            tell(segment, narration.say(segment))
        return narration

    def analyse(
        self,
        clip: Clip,
        settings: Mapping[str, Any] | None = None,
        report: Report = lambda *_: None,
        watch: Watch = lambda *_: None,
    ) -> Analysis:
        """Look at each segment, and keep what choosing captions needs."""
        source = self._open_analysis(clip, settings)
        segments = self.describe_segments(clip, source.config, report, watch)
        return replace(source, segments=tuple(segments))

    def _open_analysis(self, clip: Clip, settings: Mapping[str, Any] | None) -> Analysis:
        """Without any segment yet."""
        config = self.override(settings or {})
        return Analysis(
            source=clip.name,
            duration=end_of(clip.times()),
            width=clip.info.width,
            height=clip.info.height,
            model=self.name,
            model_version=self.version,
            config=config,
            segments=(),
            settings=config.list_differences(self.config),
        )

    def describe_segments(
        self,
        clip: Clip,
        config: ModelConfig,
        report: Report = lambda *_: None,
        watch: Watch = lambda *_: None,
    ) -> Iterator[Segment]:
        """The scenes of a film, the shots of a clip or all of it, each while the rest is unread."""
        end = end_of(clip.times())
        told, going_to = 0.0, 0.0

        def begin(step: Step) -> None:
            # What is looked at ahead of what is told counts when it is told.
            part = max(0, STEPS.index(step) - STEPS.index("words")) / len(STEPS)
            report(step, min(1.0, (told + part * (going_to - told)) / end))

        begin("shots")
        shots = self._look(clip, config, begin)
        scenes = gather_scenes(shots, config.scenes) if is_film(clip, config.frames) else shots
        keep_lexicon = not is_cut(clip, config.frames)
        for stream in self.generator.extracted.values():
            stream.to(device_of(self.words), config.engine)
        for scene in scenes:
            going_to = scene.span[1]
            watch(scene.seen, scene.span)
            extracted = extract_streams(
                self.generator.extracted, clip, scene.seen.times, scene.span
            )
            yield self.describe(scene.seen, scene.span, config, keep_lexicon, begin, extracted)
            told = going_to
        if told == 0:
            raise ClipError(f"{clip.name}: no frame can be decoded; is the file complete?")

    def _look(
        self, clip: Clip, config: ModelConfig, begin: Callable[[Step], None]
    ) -> Iterator[Scene]:
        """Each of the clip's shots, or all of it, as the Lexical-FCN sees it."""
        for span in cut(clip, config.frames):
            sampling = config.frames
            if is_film(clip, config.frames):
                count = max(1, round((span[1] - span[0]) / config.scenes.every))
                sampling = replace(sampling, most=min(count, config.scenes.frames, sampling.most))
            begin("frames")
            frames = sample_segment(clip, span, sampling, self.words.encoder.form)
            if frames is not None:
                begin("words")
                seen = self.words.read(frames, config.engine, config.frames.still)
                yield Scene.of_shot(span, seen)

    def read_words(self, clip: Clip) -> FrameGrid:
        """What the Lexical-FCN sees in the frames of a whole clip."""
        frames = sample_segment(
            clip, (0.0, end_of(clip.times())), self.config.frames, self.words.encoder.form
        )
        if frames is None:
            raise ClipError(f"{clip.name}: no frame can be decoded; is the file complete?")
        return self.words.read(frames, self.config.engine, self.config.frames.still)

    def describe(
        self,
        seen: FrameGrid,
        span: Shot,
        config: ModelConfig,
        keep_lexicon: bool = True,
        begin: Callable[[Step], None] = lambda _: None,
        extracted: Mapping[str, FloatArray] | None = None,
    ) -> Segment:
        """A segment from what the Lexical-FCN saw in its frames, and streams of its own.

        `keep_lexicon` keeps the probabilities of all words, and not only of those that are said.
        """
        begin("regions")
        sequences = generate_sequences(seen, config.regions)
        view = view_clip(seen, sequences, self._inputs, extracted)
        lexicon = self.words.lexicon
        shown = self._show(score_clip(seen), pool_words(sequences, seen))
        candidates = self.find_candidates(view, config, begin, shown)
        said = _list_said(candidates, lexicon)
        kept = list(range(len(lexicon))) if keep_lexicon else said
        return Segment(
            *span,
            grid=seen.grid,
            times=seen.times,
            source_frames=seen.source_frames,
            words=tuple(lexicon.words[index] for index in kept),
            probabilities=halve(self.trust.region.apply(seen.probabilities[:, :, kept])),
            paths=view.paths,
            candidates=candidates,
            close_up=self._look_closely(seen, said, config),
            is_blind=self.trust.is_blind(seen.features),
        )

    def _look_closely(
        self, seen: FrameGrid, words: Sequence[int], config: ModelConfig
    ) -> CloseUp | None:
        if config.boxes.fit == "grid" or seen.patches is None:
            return None
        maps = self.words.map_words(seen, words, config.boxes.window, config.engine)
        patches = reduce_patches(seen.patches)
        return CloseUp(maps.grid, maps.words, halve(maps.probabilities), halve(patches))

    def find_candidates(
        self,
        view: ClipView,
        config: ModelConfig,
        begin: Callable[[Step], None] = lambda _: None,
        shown: Shown | None = None,
    ) -> Candidates:
        """The sentences of a clip to choose from.

        `shown` are the words that it shows; those of the view, which are fewer, if not given.
        """
        lexicon, generator = self.words.lexicon, self.generator
        if shown is None:
            shown = self._show(view.clip_words, view.sequence_words)
        begin("sentences")
        vocabulary, doubt = generator.captioner.vocabulary, config.decoding.doubt
        costs = cost_words(vocabulary, lexicon, shown.named, doubt)
        found = generator.propose(view, config, costs=costs)
        found += generator.mention(view, config, shown.place_things(), costs)
        begin("ranking")
        agreement = generator.rate(found).astype(np.float32)
        fit = self._evaluate(view, found)
        share = np.float32(config.decoding.evaluator)
        quality = (1 - share) * agreement + share * SPREAD * fit
        best = generator.find_best(found, quality, config)
        kept = [found[index] for index in best]
        sentences = tuple(generator.say(one.ids) for one in kept)
        is_alone = config.streams.region_voice > 0
        likelihoods = generator.compare(view, [one.ids for one in kept], config, is_alone)
        scores = np.array([one.score for one in kept], np.float32)
        traits = find_traits(
            sentences,
            generator.count_samples(found),
            shown,
            generator.phrases,
            agreement[best],
            fit[best],
            scores,
        )
        words = lexicon.words[: len(shown.clip)]
        return Candidates(
            sentences=sentences,
            scores=scores,
            likelihoods=likelihoods,
            affinities=find_affinities(sentences, likelihoods, shown.sequences, words),
            quality=quality[best],
            fit=fit[best],
            confidence=self.trust.rate(traits),
            meanings=generator.meaning.embed(sentences).astype(np.float32),
            traits=traits,
            things=shown.mark_things(sentences),
        )

    def _evaluate(self, view: ClipView, found: Sequence[Hypothesis]) -> FloatArray:
        """(S,): how well each sentence fits the clip; 0 without an evaluator, and of no word."""
        said = [self.generator.say(one.ids) for one in found]
        different = [sentence for sentence in dict.fromkeys(said) if sentence]
        scores = self.evaluator.score(view, different) if self.evaluator else [0.0] * len(different)
        known = dict(zip(different, scores, strict=True))
        return np.array([known.get(sentence, 0.0) for sentence in said], np.float32)

    def _show(self, clip: FloatArray, sequences: FloatArray) -> Shown:
        return Shown(self.words.lexicon, clip, sequences, self.trust.clip.apply(clip))

    def override(self, settings: Mapping[str, Any]) -> ModelConfig:
        """The model's config, but for settings of a single clip."""
        for name in settings:
            if name not in FREE and name.partition(".")[0] not in FREE:
                raise ModelError(
                    f"no setting '{name}' of a trained model; those of {', '.join(FREE)} can be set"
                )
        return self.config.override(settings)


def halve(numbers: FloatArray) -> HalfArray:
    """The same numbers, rounded to 16 bits as NumPy does, which takes one after the other."""
    return np.asarray(torch.from_numpy(numbers).half().numpy())


def _count_inputs(generator: CaptionGenerator, evaluator: Evaluator | None) -> int:
    """V: of how many words the language model and the evaluator take probabilities."""
    streams = generator.captioner.widths.clip_level
    counts = {streams[name] for name in ("words", "special_words", "clip_words") if name in streams}
    if generator.classifier is not None:
        counts.add(generator.classifier.sizes[1])
    if evaluator is not None and evaluator.inputs is not None:
        counts.add(evaluator.inputs)
    if len(counts) > 1:
        raise ModelError("sentences and evaluator take different words; train both with the same")
    return counts.pop() if counts else 1


def _list_said(candidates: Candidates, lexicon: Lexicon) -> Sequence[int]:
    """The indices of content words that any sentence says."""
    said = {word for sentence in candidates.sentences for word in list_content_words(sentence)}
    return sorted(lexicon.index[word] for word in said if word in lexicon.index)
