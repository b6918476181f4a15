"""What a model is worth on clips that it has not learned from: how sure to be of what it says.

The Lexical-FCN's probabilities become those that people name a word (curves), and what speaks for a
sentence becomes the probability that all of it is right (`pipeline.confidence`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from densevidcap.config import SelectionConfig
from densevidcap.data.clip import open_clip
from densevidcap.data.failures import naming
from densevidcap.data.lexicon import CONTENT
from densevidcap.data.manifest import ClipRecord
from densevidcap.decoding.select import choose
from densevidcap.errors import ClipError
from densevidcap.models.shown_words import score_clip
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.pipeline.confidence import Judged, Known, Trust, gauge, judge
from densevidcap.types import Candidates, FloatArray


class Described(NamedTuple):
    """A held-out clip."""

    found: Candidates
    confirmed: FloatArray
    """(S,): the share of each sentence's content words that the clip's captions have."""


SENTENCES = 10
"""Of each clip, as in the paper's dense tables."""


def describe_clips(
    model: DenseCaptioner, records: Sequence[ClipRecord], advance: Callable[[], None]
) -> dict[str, Described]:
    """What is found for each clip that can be read, and what its captions say of it.

    The others were named when the stages read them.
    """
    described = {}
    for record in records:
        try:
            with naming(record.id):
                analysis = model.analyse(
                    open_clip(str(record.source)),
                    {"frames.per_shot": "never", "selection.k": SENTENCES},
                )
        except ClipError:
            continue
        finally:
            advance()
        (segment,) = analysis.segments
        found = segment.candidates
        described[record.id] = Described(found, judge(found.sentences, record.captions))
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


def calibrate_words(
    model: DenseCaptioner, records: Sequence[ClipRecord], advance: Callable[[], None]
) -> Trust:
    """What the Lexical-FCN's probabilities of content words mean, by clips that can be read."""
    lexicon = model.words.lexicon
    is_content = np.array([entry.pos in CONTENT for entry in lexicon.entries])
    known = []
    for record in records:
        try:
            with naming(record.id):
                seen = model.read_words(open_clip(str(record.source)))
        except ClipError:
            continue
        finally:
            advance()
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
