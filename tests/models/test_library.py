"""Views on disk, and which sentence goes with which sequence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.small_corpus import LIBRARY, Corpus, make_corpus

from densevidcap.data.manifest import ClipRecord
from densevidcap.errors import CorpusError, ModelError
from densevidcap.models.streams import view_clip
from densevidcap.regions import SequenceOptions, associate, generate_sequences
from densevidcap.regions.association import spread
from densevidcap.train.view_cache import ViewOptions, open_view_cache
from densevidcap.types import FloatArray

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 12)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(tmp_path_factory.mktemp("world"))


def draw_scores(seed: int, sentences: int, sequences: int) -> FloatArray:
    """In double precision: no two are so near that the order of summing could swap them."""
    return np.random.default_rng(seed).random((sentences, sequences))  # type: ignore[return-value]


@given(seeds, st.integers(0, 25), sizes, st.integers(1, 5))
def test_each_sentence_gets_a_sequence_and_none_more_than_it_must(
    seed: int, sentences: int, sequences: int, most: int
) -> None:
    pairs = spread(draw_scores(seed, sentences, sequences), most)
    assert pairs.shape == (sentences,)
    assert ((pairs >= 0) & (pairs < sequences)).all()
    needed = -(-sentences // sequences)
    assert np.bincount(pairs, minlength=sequences).max() <= max(most, needed)


@given(seeds, sizes, sizes, st.integers(1, 3), st.data())
def test_the_order_of_sentences_and_sequences_changes_nothing(
    seed: int, sentences: int, sequences: int, most: int, data: st.DataObject
) -> None:
    scores = draw_scores(seed, sentences, sequences)
    rows = data.draw(st.permutations(range(sentences)))
    columns = data.draw(st.permutations(range(sequences)))
    shuffled = spread(scores[np.ix_(rows, columns)], most)
    np.testing.assert_array_equal(np.array(columns)[shuffled], spread(scores, most)[rows])


@given(seeds, st.integers(2, 12), st.integers(2, 12))
def test_neither_long_sentences_nor_rich_sequences_win_for_that_alone(
    seed: int, sentences: int, sequences: int
) -> None:
    scores = draw_scores(seed, sentences, sequences)
    longer = np.random.default_rng(seed + 1).random((sentences, 1))
    richer = np.random.default_rng(seed + 2).random((1, sequences))
    favoured: FloatArray = scores + longer + richer  # type: ignore[assignment]
    np.testing.assert_array_equal(spread(favoured, 2), spread(scores, 2))


def test_a_single_sentence_gets_its_best_sequence() -> None:
    assert spread(np.array([[0.1, 0.7, 0.2]], np.float32), most=1) == [1]


def test_a_view_is_what_a_direct_run_gives(corpus: Corpus) -> None:
    for record in corpus.records:
        assert record.id in corpus.library
        seen = corpus.words.describe(
            corpus.cache.features(record.id), corpus.cache.times(record.id)
        )
        sequences = generate_sequences(seen, SequenceOptions(k=LIBRARY.k))
        direct, view = view_clip(seen, sequences, LIBRARY.words), corpus.library.view(record.id)
        np.testing.assert_array_equal(view.features, direct.features)
        np.testing.assert_array_equal(view.paths, direct.paths)
        np.testing.assert_allclose(view.sequence_words, direct.sequence_words, rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(view.clip_words, direct.clip_words, rtol=1e-3, atol=1e-6)
    assert corpus.library.view("one-frame").paths.shape == (LIBRARY.k, 1)


def test_winners_are_those_of_the_paper(corpus: Corpus) -> None:
    """Eq. 10, as the stage of region-sequences has it."""
    options, lexicon = replace(LIBRARY, pairing="winner"), corpus.words.lexicon
    for record in corpus.records:
        seen = corpus.words.describe(
            corpus.cache.features(record.id), corpus.cache.times(record.id)
        )
        sequences = generate_sequences(seen, SequenceOptions(k=LIBRARY.k))
        said = [np.array(lexicon.find(caption), np.intp) for caption in record.captions]
        expected = associate(said, sequences, seen).winners
        np.testing.assert_array_equal(corpus.library.pair(record.id, options), expected)


def test_every_caption_is_paired_however_few_there_are(corpus: Corpus) -> None:
    for record in corpus.records:
        pairs = corpus.library.pair(record.id, LIBRARY)
        assert len(pairs) == len(record.captions)
        assert np.bincount(pairs).max() <= LIBRARY.most


def test_a_library_is_made_once_for_all_it_depends_on(corpus: Corpus, tmp_path: Path) -> None:
    words, cache = corpus.words, corpus.cache
    records = list(corpus.records[:2])

    def count_files(records: list[ClipRecord], options: ViewOptions) -> int:
        advanced: list[None] = []
        open_view_cache(tmp_path, words, cache, records, options, lambda: advanced.append(None))
        assert len(advanced) == len(records)
        return len(list(tmp_path.iterdir()))

    assert count_files(records, LIBRARY) == 1
    assert count_files(records, LIBRARY) == 1
    assert count_files(records, replace(LIBRARY, pairing="winner", most=1)) == 1
    assert count_files(records, replace(LIBRARY, words=10)) == 2
    assert count_files(records, replace(LIBRARY, k=2)) == 3
    assert count_files(records[:1], LIBRARY) == 4
    retold = [replace(records[0], captions=("a red ball",)), records[1]]
    assert count_files(retold, LIBRARY) == 5


def test_a_damaged_library_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    arguments = (corpus.words, corpus.cache, corpus.records[:1], LIBRARY)
    open_view_cache(tmp_path, *arguments)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(CorpusError, match=f"{path}: damaged; remove it to compute it again"):
        open_view_cache(tmp_path, *arguments)


@pytest.mark.parametrize("name", ["words", "k", "most"])
def test_sizes_that_cannot_be_are_refused(name: str) -> None:
    with pytest.raises(ModelError, match=f"{name} must be at least 1, not 0"):
        ViewOptions(**{name: 0})  # type: ignore[arg-type]
