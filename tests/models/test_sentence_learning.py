"""The batches and figures that a captioner learns from."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.plain_scores import score
from tests.models.small_corpus import LEXICON_SIZE, REGIONS, Corpus, make_corpus, make_task

from densevidcap.config import AssociationConfig, CaptionerConfig, SentenceTrainingConfig
from densevidcap.data.text import Vocabulary
from densevidcap.errors import CorpusError, ModelError
from densevidcap.models.streams import make_streams
from densevidcap.models.views import look
from densevidcap.train.sentences import Batch, SentenceTask
from densevidcap.train.view_cache import open_view_cache

Unsupported = Literal["first", "leave_out", "spread"]
PAD, BOS, EOS = Vocabulary.PAD, Vocabulary.BOS, Vocabulary.EOS


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(tmp_path_factory.mktemp("world"))


def ids_of(corpus: Corpus) -> list[str]:
    return [record.id for record in corpus.records]


def list_sentences(batch: Batch) -> list[tuple[int, ...]]:
    return [tuple(word for word in row if word != PAD) for row in batch.sentences.tolist()]


def test_projections_of_frames_learn_at_a_rate_of_their_own(corpus: Corpus) -> None:
    for rate in (1.0, 0.125):
        task = make_task(corpus, SentenceTrainingConfig(projection_rate=rate))
        (start,) = (factors := task.lr_multipliers())
        assert factors[start] == rate
        slowed = {name for name, _ in task.model.named_parameters() if name.startswith(start)}
        frames = task.model.fusion.frames.named_parameters()
        assert slowed == {f"{start}{name}" for name, _ in frames} != set()


@settings(max_examples=20)
@given(batch=st.integers(1, 70), together=st.integers(1, 5), epoch=st.integers(0, 5))
def test_an_epoch_has_every_caption_once_with_its_own_sequence(
    corpus: Corpus, batch: int, together: int, epoch: int
) -> None:
    task = make_task(corpus, SentenceTrainingConfig(batch=batch, captions_together=together))
    batches = list(task.batches(epoch))
    assert max(len(each.sentences) for each in batches) <= batch
    for each in batches:
        assert max(Counter(each.owners.tolist()).values()) <= together
        assert set(each.owners.tolist()) == set(range(len(each.streams)))
    assert len(batches) == task.steps_per_epoch()
    learned = Counter(
        (words, tuple(special.tolist()))
        for each in batches
        for words, special in zip(
            list_sentences(each), each.streams.whole["special_words"][each.owners], strict=True
        )
    )
    expected: Counter[tuple[tuple[int, ...], tuple[float, ...]]] = Counter()
    for record in corpus.records:
        pairs = corpus.library.pair(record.id)
        rows = look(corpus.library.view(record.id), [int(sequence) for sequence in pairs])
        streams = make_streams(rows, (), ("special_words",))
        for caption, special in zip(record.captions, streams.whole["special_words"], strict=True):
            words = tuple(task.model.vocabulary.encode(caption))
            expected[words, tuple(special.tolist())] += 1
    assert learned == expected


def test_an_epochs_batches_are_always_the_same_ones(corpus: Corpus) -> None:
    task = make_task(corpus, SentenceTrainingConfig(batch=16), most_frames=2)
    first, again, other = (list(task.batches(epoch)) for epoch in (3, 3, 4))
    for one, two in zip(first, again, strict=True):
        assert torch.equal(one.sentences, two.sentences)
        assert torch.equal(one.streams.frames["centred"], two.streams.frames["centred"])
    assert [list_sentences(batch) for batch in first] != [list_sentences(batch) for batch in other]


@given(longest=st.integers(1, 8))
def test_long_captions_are_cut_and_end(corpus: Corpus, longest: int) -> None:
    whole = make_task(corpus).pairs
    for pair, cut in zip(
        whole, make_task(corpus, SentenceTrainingConfig(max_length=longest)).pairs, strict=True
    ):
        assert cut.words == (*pair.words[:-1][: longest + 1], EOS)
        assert (cut.clip, cut.sequence) == (pair.clip, pair.sequence)


def test_without_augmentation_a_sequence_is_always_read_as_it_is_described(corpus: Corpus) -> None:
    task = make_task(corpus, SentenceTrainingConfig(batch=16, draw_frames=False), most_frames=2)
    rows = look(task.views[0], most=2)
    for epoch in (0, 1):
        random = np.random.default_rng(epoch)
        assert task._draw(0, random).tolist() == rows[0].frames.tolist()


@pytest.mark.parametrize("frames", [1, 2, 3, 99])
def test_frames_are_drawn_anew_in_their_order(corpus: Corpus, frames: int) -> None:
    task = make_task(corpus, most_frames=frames)
    most = min(3, frames)
    lengths = {
        length
        for epoch in range(5)
        for batch in task.batches(epoch)
        for length in batch.streams.lengths.tolist()
    }
    assert lengths == {1, *range((most + 1) // 2, most + 1)}  # one clip has a single frame


def test_an_epoch_may_have_a_part_of_the_captions(corpus: Corpus) -> None:
    task = make_task(corpus, SentenceTrainingConfig(batch=7, captions_per_clip=2))
    batches = list(task.batches(0))
    assert len(batches) == task.steps_per_epoch()
    assert sum(len(batch.sentences) for batch in batches) == 2 * len(corpus.records)
    plenty = make_task(corpus, SentenceTrainingConfig(captions_per_clip=99))
    assert sum(len(batch.sentences) for batch in plenty.batches(0)) == len(plenty.pairs)


def test_held_out_captions_are_measured_in_nats_a_word(corpus: Corpus) -> None:
    task = make_task(corpus, SentenceTrainingConfig(batch=5), held_out=4)
    total, words = 0.0, 0
    for pair in task.held_out:
        streams = make_streams(
            look(task.views[pair.clip], [pair.sequence]), ("centred",), ("special_words",)
        )
        total -= float(score(task.model, streams, [pair.words[1:-1]]))
        words += len(pair.words) - 1
    assert {pair.clip for pair in task.held_out} == {6, 7, 8, 9}
    assert task.validate() == {"val_loss": pytest.approx(total / words, rel=1e-5)}
    assert make_task(corpus).validate() == {}


def test_a_corpus_without_captions_is_refused(corpus: Corpus) -> None:
    silent = [replace(record, captions=()) for record in corpus.records]
    views = {record.id: corpus.library.view(record.id) for record in silent}
    nothing = {record.id: np.zeros(0, np.intp) for record in silent}
    model = make_task(corpus).model
    with pytest.raises(CorpusError, match="no caption to train on"):
        SentenceTask(model, views, nothing, silent, [], SentenceTrainingConfig(), 8)


def test_a_caption_without_a_sequence_trains_none(corpus: Corpus) -> None:
    task = make_task(corpus)
    record = corpus.records[0]
    sequences = np.arange(len(record.captions)) % 2 - 1
    views = {record.id: corpus.library.view(record.id)}
    shown = SentenceTask(
        task.model, views, {record.id: sequences}, [record], [], SentenceTrainingConfig(), 8
    )
    assert [pair.sequence for pair in shown.pairs] == [0] * int((sequences == 0).sum())
    said = [task.model.vocabulary.encode(caption) for caption in record.captions[1::2]]
    assert [pair.words for pair in shown.pairs] == [tuple(words) for words in said]


def test_captions_that_no_sequence_shows_are_learned_if_the_setting_says_so(
    corpus: Corpus,
) -> None:
    def pair(threshold: float, unsupported: Unsupported) -> list[tuple[int, ...]]:
        library = open_view_cache(
            corpus.folder,
            corpus.words,
            corpus.cache,
            corpus.records,
            replace(REGIONS, threshold=threshold),
            AssociationConfig("winner", unsupported=unsupported),
            LEXICON_SIZE,
        )
        task = make_task(replace(corpus, library=library))
        return [pair.words for pair in task.pairs]

    said = [
        tuple(make_task(corpus).model.vocabulary.encode(caption))
        for record in corpus.records
        for caption in record.captions
    ]
    best = [
        sequences.sequence_words.max() for sequences in map(corpus.library.view, ids_of(corpus))
    ]
    threshold = float(np.median(best))
    some = pair(threshold, "leave_out")
    assert 0 < len(some) < len(said)
    assert set(some) <= set(said)
    assert pair(threshold, "first") == pair(threshold, "spread") == said
    with pytest.raises(CorpusError, match="no region-sequence shows a word of any caption"):
        pair(1.0, "leave_out")


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        (SentenceTrainingConfig, "min_count", 0),
        (SentenceTrainingConfig, "max_length", 0),
        (SentenceTrainingConfig, "batch", 0),
        (SentenceTrainingConfig, "captions_per_clip", -1),
        (SentenceTrainingConfig, "label_smoothing", -0.1),
        (SentenceTrainingConfig, "label_smoothing", 1.1),
        (CaptionerConfig, "most_frames", 0),
    ],
)
def test_settings_that_cannot_work_are_refused(section: type, name: str, value: float) -> None:
    with pytest.raises(ModelError, match=f"{name} .* not {value}"):
        section(**{name: value})
