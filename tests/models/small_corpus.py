"""Clips of the test world as a captioner's library, in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.models.small_world import read_corpus, write_corpus

from densevidcap.config import (
    AssociationConfig,
    CaptionerConfig,
    RegionsConfig,
    SentenceTrainingConfig,
)
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.text import Vocabulary
from densevidcap.models.captioner import CaptionModel, StreamWidths
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.train.feature_cache import FeatureCache
from densevidcap.train.sentences import SentenceTask
from densevidcap.train.view_cache import ViewCache, open_view_cache

REGIONS = RegionsConfig(k=4)
ASSOCIATION = AssociationConfig()
LEXICON_SIZE = 20


@dataclass(frozen=True)
class Corpus:
    folder: Path
    records: Sequence[ClipRecord]
    words: LexicalFCN
    cache: FeatureCache
    library: ViewCache


def make_corpus(folder: Path, clips: int = 8) -> Corpus:
    """The last clip has a single frame, the one before it a single caption."""
    records, words, cache = read_corpus(write_corpus(folder, clips))
    first = records[0]
    times, features = cache.times(first.id), cache.features(first.id)
    records.append(replace(first, id="one-caption", captions=first.captions[:1]))
    records.append(replace(first, id="one-frame"))
    with cache.filling():
        cache.append("one-caption", times, features)
        cache.append("one-frame", times[:1], features[:1])
    settings = REGIONS, ASSOCIATION, LEXICON_SIZE
    library = open_view_cache(folder, words, cache, records, *settings)
    return Corpus(folder, records, words, cache, library)


def make_task(
    corpus: Corpus,
    options: SentenceTrainingConfig | None = None,
    held_out: int = 0,
    most_frames: int = 8,
) -> SentenceTask:
    """With a small captioner; the first so many clips are held out."""
    vocabulary = Vocabulary.build(text for record in corpus.records for text in record.captions)
    streams = {"centred": corpus.words.encoder.channels}
    whole = {"special_words": LEXICON_SIZE}
    captioner = CaptionModel(
        vocabulary, CaptionerConfig(hidden=8, embedding=8), StreamWidths(streams, whole)
    )
    views = {record.id: corpus.library.view(record.id) for record in corpus.records}
    return SentenceTask(
        captioner.eval(),
        views,
        {record.id: corpus.library.pair(record.id) for record in corpus.records},
        corpus.records[held_out:],
        corpus.records[:held_out],
        options or SentenceTrainingConfig(),
        most_frames,
    )
