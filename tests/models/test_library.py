"""Views on disk, and which sentence goes with which sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.small_corpus import ASSOCIATION, LEXICON_SIZE, REGIONS, Corpus, make_corpus

from densevidcap.config import AssociationConfig, RegionsConfig, StreamsConfig
from densevidcap.data.manifest import ClipRecord
from densevidcap.errors import CorpusError, ModelError
from densevidcap.models.views import view_clip
from densevidcap.regions import WeightStep, generate_sequences, pool_words
from densevidcap.regions.association import LEFT_OUT
from densevidcap.train import view_cache
from densevidcap.train.view_cache import CaptionedClips, ViewCache, learn_regions, open_view_cache

LEARNED = replace(REGIONS, weights="learned", threshold=0.0001)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(tmp_path_factory.mktemp("world"))


def test_a_view_is_what_a_direct_run_gives(corpus: Corpus) -> None:
    for record in corpus.records:
        assert record.id in corpus.library
        seen = corpus.words.describe(
            corpus.cache.features(record.id), corpus.cache.times(record.id)
        )
        sequences = generate_sequences(seen, REGIONS)
        direct, view = view_clip(seen, sequences, LEXICON_SIZE), corpus.library.view(record.id)
        np.testing.assert_array_equal(view.features, direct.features)
        np.testing.assert_array_equal(view.paths, direct.paths)
        np.testing.assert_allclose(view.sequence_words, direct.sequence_words, rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(view.clip_words, direct.clip_words, rtol=1e-3, atol=1e-6)
    assert corpus.library.view("one-frame").paths.shape == (REGIONS.k, 1)


def reopen(corpus: Corpus, association: AssociationConfig) -> ViewCache:
    arguments = corpus.folder, corpus.words, corpus.cache, corpus.records, REGIONS
    return open_view_cache(*arguments, association, LEXICON_SIZE)


def test_winners_are_those_of_the_paper(corpus: Corpus) -> None:
    """Eq. 10, as the stage of region-sequences has it."""
    association = AssociationConfig("winner", unsupported="first")
    library, lexicon = reopen(corpus, association), corpus.words.lexicon
    for record in corpus.records:
        seen = corpus.words.describe(
            corpus.cache.features(record.id), corpus.cache.times(record.id)
        )
        pooled = pool_words(generate_sequences(seen, REGIONS), seen)
        said = [np.array(lexicon.find(caption), np.intp) for caption in record.captions]
        sums = [np.where(pooled >= 0.1, pooled, 0)[:, words].sum(axis=1) for words in said]
        np.testing.assert_array_equal(library.pair(record.id), np.argmax(sums, axis=1))


def test_training_clips_can_be_searched_for_the_words_of_their_captions(
    corpus: Corpus, tmp_path: Path
) -> None:
    held_out = replace(corpus.records[1], split="val")
    assert corpus.records[0].split == "train"
    regions = replace(REGIONS, threshold=0.0001, training_words="captions")
    records = [corpus.records[0], held_out]
    library = open_view_cache(
        tmp_path, corpus.words, corpus.cache, records, regions, ASSOCIATION, LEXICON_SIZE
    )
    for record in records:
        seen = corpus.words.describe(
            corpus.cache.features(record.id), corpus.cache.times(record.id)
        )
        said = {word for text in record.captions for word in corpus.words.lexicon.find(text)}
        for words in (np.array(sorted(said), np.intp), None):
            sequences = generate_sequences(seen, regions, words)
            same = [tuple(path) for path in library.view(record.id).paths] == [
                sequence.regions for sequence in sequences
            ]
            assert same == ((words is not None) == (record.split == "train"))


def test_every_caption_is_paired_however_few_there_are(corpus: Corpus) -> None:
    for record in corpus.records:
        pairs = corpus.library.pair(record.id)
        assert len(pairs) == len(record.captions)
        assert np.bincount(pairs).max() <= ASSOCIATION.most


def test_captions_that_no_sequence_shows_are_counted(corpus: Corpus, tmp_path: Path) -> None:
    first, second = corpus.records[:2]
    strange = replace(first, captions=("zzz qqq", *first.captions))
    for unsupported, left_out in (("leave_out", 1), ("first", 0), ("spread", 0)):
        library = open_view_cache(
            tmp_path,
            corpus.words,
            corpus.cache,
            [strange, second],
            replace(REGIONS, threshold=0.0001),
            AssociationConfig("winner", unsupported=unsupported),  # type: ignore[arg-type]
            LEXICON_SIZE,
        )
        captions = len(strange.captions) + len(second.captions)
        counts = {"captions": captions, "unsupported": 1, "left_out": left_out}
        assert library.count_captions([first.id, second.id]) == counts
        assert library.count_captions([second.id])["unsupported"] == 0
        assert (library.pair(first.id)[0] == LEFT_OUT) == (left_out == 1)


def test_a_library_is_made_once_for_all_it_depends_on(corpus: Corpus, tmp_path: Path) -> None:
    records = list(corpus.records[:2])

    def count_files(
        records: list[ClipRecord] = records,
        regions: RegionsConfig = REGIONS,
        association: AssociationConfig = ASSOCIATION,
        lexicon_size: int = LEXICON_SIZE,
    ) -> int:
        advanced: list[None] = []
        settings = regions, association, lexicon_size, lambda: advanced.append(None)
        open_view_cache(tmp_path, corpus.words, corpus.cache, records, *settings)
        assert len(advanced) == len(records)
        return len(list(tmp_path.iterdir()))

    assert count_files() == 1
    assert count_files() == 1
    assert count_files(association=AssociationConfig("winner", most=1)) == 1
    assert count_files(lexicon_size=10) == 2
    assert count_files(records[:1]) == 3
    retold = [replace(records[0], captions=("a red ball",)), records[1]]
    assert count_files(retold) == 4
    settings: list[dict[str, Any]] = [
        {"k": 2},
        {"terms": REGIONS.terms | {"coherence": 2.0}},
        {"terms": {"informativeness": 1.0}},
        {"scaling": "paper"},
        {"search": "celf"},
        {"search": "celf", "budget": 1},
        {"threshold": 0.2},
        {"training_words": "captions"},
    ]
    for known, changed in enumerate(settings, start=4):
        assert count_files(regions=replace(REGIONS, **changed)) == known + 1


def test_weights_are_learned_once_and_kept(corpus: Corpus, tmp_path: Path) -> None:
    told: list[WeightStep] = []
    arguments = tmp_path, corpus.words, corpus.cache, corpus.records[:6], LEARNED
    learned, steps = learn_regions(*arguments, report=told.append)
    assert learned.weights == "fixed"
    assert learned.terms == steps[-1].terms
    assert learned.terms != LEARNED.terms
    assert [*learned.terms] == [*LEARNED.terms]
    assert told == steps
    assert learn_regions(*arguments, report=told.append) == (learned, steps)
    assert told == steps  # nothing was learned again
    (path,) = tmp_path.iterdir()
    path.write_text("{}")
    with pytest.raises(CorpusError, match=f"{path}: damaged; remove it to compute it again"):
        learn_regions(*arguments)


def test_weights_are_learned_from_a_bounded_draw_of_clips(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[list[str]] = []

    class Watched(CaptionedClips):
        def __init__(self, records: Sequence[ClipRecord], *others: Any) -> None:
            drawn.append([record.id for record in records])
            super().__init__(records, *others)

    monkeypatch.setattr(view_cache, "CaptionedClips", Watched)
    monkeypatch.setattr(view_cache, "MOST_LEARNED", 3)
    for seed in (0, 0, 1):
        (tmp_path / str(len(drawn))).mkdir()
        arguments = corpus.words, corpus.cache, corpus.records, LEARNED, seed
        learn_regions(tmp_path / str(len(drawn)), *arguments)
    assert [len(set(ids)) for ids in drawn] == [3, 3, 3]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_damaged_library_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    records = corpus.records[:1]
    arguments = (corpus.words, corpus.cache, records, REGIONS, ASSOCIATION, LEXICON_SIZE)
    open_view_cache(tmp_path, *arguments)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(CorpusError, match=f"{path}: damaged; remove it to compute it again"):
        open_view_cache(tmp_path, *arguments)


@pytest.mark.parametrize(
    ("kind", "name"),
    [(StreamsConfig, "lexicon_size"), (RegionsConfig, "k"), (AssociationConfig, "most")],
)
def test_sizes_that_cannot_be_are_refused(kind: type[Any], name: str) -> None:
    with pytest.raises(ModelError, match=f"{name} must be 1 or more, not 0"):
        kind(**{name: 0})
