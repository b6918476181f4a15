"""What a model is worth on clips that it has not learned from: how sure to be of what it says.

The Lexical-FCN's probabilities become those that people name a word (curves), and what speaks for a
sentence becomes the probability that all of it is right (`pipeline.confidence`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from densevidcap.config import SelectionConfig
from densevidcap.data.lexicon import CONTENT
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.sampling import Sampling, end_of
from densevidcap.decoding.select import choose
from densevidcap.models.shown_words import score_clip
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.pipeline.confidence import Judged, Known, Trust, gauge, judge
from densevidcap.progress import Progress
from densevidcap.train.feature_cache import cache_features, cache_streams, read_extracted
from densevidcap.types import Candidates, FloatArray, FrameGrid


class HeldOutClips:
    """Clips that can be read, as the model's stages saw them; the others are `failures`, with why.

    They come from the folder of features in which the stages left them; what is missing there is
    looked at and added. Of patches it has none, and so no boxes.
    """

    def __init__(
        self,
        model: DenseCaptioner,
        records: Sequence[ClipRecord],
        folder: Path,
        progress: Progress,
    ) -> None:
        self._model, config = model, model.config
        sampling = Sampling.of(config.frames)
        self._features, self.failures = cache_features(
            records,
            model.words.encoder,
            folder,
            sampling,
            advance=progress.count("reading held-out clips", len(records)),
            engine=config.engine,
            workers=config.training.workers,
        )
        self.records = [record for record in records if record.id in self._features]
        extracted = model.generator.extracted
        self._extracted = cache_streams(
            self.records, extracted, self._features, folder, sampling, progress
        )

    def see(self, clip: str) -> FrameGrid:
        """What the Lexical-FCN sees in its frames."""
        cache, config = self._features, self._model.config
        observed, times = cache.features(clip), cache.times(clip)
        return self._model.words.describe(observed, times, engine=config.engine)

    def extracted(self, clip: str) -> dict[str, FloatArray]:
        """What was read from it for streams of their own."""
        return read_extracted(self._extracted, clip)


class Described(NamedTuple):
    """A held-out clip."""

    found: Candidates
    confirmed: FloatArray
    """(S,): the share of each sentence's content words that the clip's captions have."""


SENTENCES = 10
"""Of each clip, as in the paper's dense tables."""


def describe_clips(
    model: DenseCaptioner, clips: HeldOutClips, advance: Callable[[], None]
) -> dict[str, Described]:
    """What is found for each clip, and what its captions say of it."""
    config = model.override({"selection.k": SENTENCES})
    described = {}
    for record in clips.records:
        seen = clips.see(record.id)
        span = (0.0, end_of(seen.times))
        segment = model.describe(seen, span, config, extracted=clips.extracted(record.id))
        found = segment.candidates
        described[record.id] = Described(found, judge(found.sentences, record.captions))
        advance()
    return described


def learn_trust(
    trust: Trust, described: Iterable[Described], selection: SelectionConfig
) -> tuple[Trust, list[list[str]]]:
    """How sure to be of sentences, and what is then said of each clip.

    Which sentences are said depends on how sure we are, and that on those that are said: so it is
    learned twice.
    """
    clips, options = [*described], replace(selection, k=SENTENCES, sure=0.0)

    def choose_all() -> list[list[int]]:
        rated = [replace(each.found, confidence=trust.rate(each.found.traits)) for each in clips]
        return [[choice.candidate for choice in choose(each, options)] for each in rated]

    for _ in range(2):
        judged = [
            Judged(each.found.traits, each.confirmed, chosen)
            for each, chosen in zip(clips, choose_all(), strict=True)
        ]
        trust = trust.learn(judged)
    said = [
        [each.found.sentences[index] for index in chosen]
        for each, chosen in zip(clips, choose_all(), strict=True)
    ]
    return trust, said


def calibrate_words(model: DenseCaptioner, clips: HeldOutClips) -> Trust:
    """What the Lexical-FCN's probabilities of content words mean."""
    lexicon = model.words.lexicon
    is_content = np.array([entry.pos in CONTENT for entry in lexicon.entries])
    known = []
    for record in clips.records:
        seen = clips.see(record.id)
        values = score_clip(seen), seen.probabilities.max(axis=(0, 1))
        named = lexicon.label(record.captions)
        means, spreads = gauge(seen.features)
        known.append(
            Known(
                clip=values[0][is_content],
                peak=values[1][is_content],
                named=named[is_content],
                means=means,
                spreads=spreads,
            )
        )
    return Trust.learn_words(known) if known else Trust()
