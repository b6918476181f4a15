"""The batches and losses that an evaluator learns from, and that it learns."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.small_examples import THINGS, make_examples, make_network, show

from densevidcap.config import EvaluatorTrainingConfig, OptimisationConfig
from densevidcap.data.text import Vocabulary
from densevidcap.errors import CorpusError, ModelError
from densevidcap.models.evaluator_network import NetworkEvaluator, gather
from densevidcap.train.evaluator import (
    Batch,
    EvaluatorTask,
    ValidationSet,
    grade_sentences,
    info_nce,
    listnet,
)
from densevidcap.train.loop import TrainingLoop

EXAMPLES = make_examples(12)


def make_task(options: EvaluatorTrainingConfig, held_out: int = 0) -> EvaluatorTask:
    return EvaluatorTask(make_network(EXAMPLES), EXAMPLES[held_out:], EXAMPLES[:held_out], options)


def list_pairs(batch: Batch) -> list[tuple[int, int, tuple[int, ...]]]:
    sentences = [
        tuple(word for word in row if word != Vocabulary.PAD) for row in batch.sentences.tolist()
    ]
    return list(zip(batch.clips.tolist(), batch.sequences.tolist(), sentences, strict=True))


@settings(max_examples=20)
@given(size=st.integers(1, 50), hard=st.floats(0, 1), epoch=st.integers(0, 5))
def test_an_epoch_has_every_caption_once(size: int, hard: float, epoch: int) -> None:
    task = make_task(EvaluatorTrainingConfig(batch=size, hard=hard, unknown=0.0))
    batches = list(task.batches(epoch))
    assert len(batches) == task.steps_per_epoch()
    seen = Counter(pair for batch in batches for pair in list_pairs(batch))
    assert seen == Counter((pair.clip, pair.sequence, pair.said.words) for pair in task.pairs)


def test_an_epochs_batches_are_always_the_same_ones() -> None:
    task = make_task(EvaluatorTrainingConfig(batch=10))
    first, again, other = (list(task.batches(epoch)) for epoch in (3, 3, 4))
    for one, two in zip(first, again, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    assert [list_pairs(batch) for batch in first] != [list_pairs(batch) for batch in other]


def test_hard_batches_are_of_one_category() -> None:
    task = make_task(EvaluatorTrainingConfig(batch=6, hard=1.0))  # each category has 18 captions
    for batch in task.batches(0):
        assert len({task.categories[clip] for clip in batch.clips.tolist()}) == 1


def test_negatives_come_with_their_worth_to_the_captions_clip() -> None:
    task = make_task(EvaluatorTrainingConfig(batch=5, negatives=4, unknown=0.0))
    for batch in task.batches(0):
        assert batch.worth.shape == (len(batch.clips), 5)
        negatives = batch.negatives.view(len(batch.clips), 4, -1)
        for clip, row, worth in zip(batch.clips, negatives, batch.worth[:, 1:], strict=True):
            known = {negative.words: negative.worth for negative in task.negatives[int(clip)]}
            for words, value in zip(row.tolist(), worth.tolist(), strict=True):
                spoken = tuple(word for word in words if word != Vocabulary.PAD)
                assert value == pytest.approx(known[spoken])


def test_other_clips_are_of_the_same_category_and_another_clip() -> None:
    examples = [replace(example, captions=[example.clip] * 3, weaker=()) for example in EXAMPLES]
    names = [example.clip for example in examples]
    _, negatives = grade_sentences(examples, lambda said: (names.index(said),), 30, seed=0)
    for clip, listed in enumerate(negatives):
        others = {negative.words[0] for negative in listed[3:]}
        assert others == {other for other in range(12) if other % 2 == clip % 2} - {clip}


def test_a_caption_without_a_sequence_trains_none() -> None:
    shown = replace(EXAMPLES[0], sequences=np.array([0, -1, 2]))
    pairs, negatives = grade_sentences([shown, EXAMPLES[1]], lambda said: (len(said),), 0, seed=0)
    assert [pair.sequence for pair in pairs if pair.clip == 0] == [0, 2]
    said = [(len(caption),) for caption in shown.captions]
    assert [pair.said.words for pair in pairs if pair.clip == 0] == [said[0], said[2]]
    assert len(negatives[0]) == len(shown.captions) + len(shown.weaker)


def test_words_are_forgotten_but_never_signs() -> None:
    task = make_task(EvaluatorTrainingConfig(batch=99, unknown=1.0))
    (batch,) = task.batches(0)
    assert int(batch.sentences.max()) < len(Vocabulary.SPECIAL_TOKENS)


@given(seed=st.integers(0, 999), count=st.integers(2, 6))
def test_info_nce_is_best_where_every_pair_wins(seed: int, count: int) -> None:
    random = torch.Generator().manual_seed(seed)
    clips = torch.arange(count)
    logits = torch.randn(count, count, generator=random)
    surer = logits + 3 * torch.eye(count)
    assert info_nce(surer, clips) < info_nce(logits, clips)
    assert info_nce(logits, clips) == pytest.approx(float(info_nce(logits.T, clips)), abs=1e-5)
    order = torch.randperm(count, generator=random)
    assert info_nce(logits[order][:, order], clips) == pytest.approx(
        float(info_nce(logits, clips)), abs=1e-5
    )


def test_a_clip_that_comes_twice_is_not_its_own_negative() -> None:
    logits = torch.tensor([[5.0, 9.0, 0.0], [9.0, 5.0, 0.0], [0.0, 0.0, 5.0]])
    assert info_nce(logits, torch.tensor([7, 7, 8])) < 0.05
    assert info_nce(logits, torch.tensor([6, 7, 8])) > 1


@given(seed=st.integers(0, 999))
def test_listnet_is_met_best_by_the_worth_itself(seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    worth = torch.rand(4, 3, generator=random)
    met = listnet(worth / 0.3, worth, 0.3)
    assert met <= listnet(torch.randn(4, 3, generator=random), worth, 0.3)


def test_it_learns_what_sentences_tell(tmp_path: Path) -> None:
    examples, held_out = make_examples(80), make_examples(30, seed=1)
    network = make_network(examples)
    task = EvaluatorTask(network, examples, held_out, EvaluatorTrainingConfig(batch=32))
    before = task.validate()
    history = TrainingLoop(task, OptimisationConfig(epochs=8, learning_rate=1e-2), tmp_path).train()
    after = history[-1]
    assert after["auc"] > max(85, before["auc"])
    assert after["clip_at_10"] > max(75, before["clip_at_10"])
    assert after["agreement"] > 80
    evaluator = NetworkEvaluator(network)
    dog, cat, boat = (THINGS.index(thing) for thing in ("dog", "cat", "boat"))
    said = ["the dog is next to a cat", "the horse is next to a boat"]
    scores = evaluator.score(show(dog, cat, seed=77), said)
    assert scores[0] > scores[1]
    assert evaluator.score(show(boat, cat, seed=78), said)[0] < scores[0]


def test_few_held_out_clips_have_no_metrics() -> None:
    assert make_task(EvaluatorTrainingConfig()).validate() == {}
    assert make_task(EvaluatorTrainingConfig(), held_out=1).validate() == {}
    assert set(make_task(EvaluatorTrainingConfig(), held_out=2).validate()) > {"auc", "agreement"}


def test_a_single_clip_teaches_nothing() -> None:
    with pytest.raises(CorpusError, match="at least two need captions"):
        EvaluatorTask(make_network(), EXAMPLES[:1], [], EvaluatorTrainingConfig())


def test_captions_that_no_sequence_shows_teach_nothing() -> None:
    hidden = [replace(example, sequences=np.full(3, -1)) for example in EXAMPLES[1:]]
    with pytest.raises(CorpusError, match=r"at least two need captions.*association\.unsupported"):
        EvaluatorTask(make_network(), [EXAMPLES[0], *hidden], [], EvaluatorTrainingConfig())


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, 0) for name in ("min_count", "max_length", "batch", "negatives", "tolerance")]
    + [("other_clips", -1), ("listnet", -0.5), ("hard", 1.5), ("unknown", -0.1)],
)
def test_settings_that_cannot_work_are_refused(name: str, value: float) -> None:
    with pytest.raises(ModelError, match=f"{name} .* not {value}"):
        EvaluatorTrainingConfig(**{name: value})  # type: ignore[arg-type]


def test_scores_of_a_validation_set_are_those_of_the_evaluator() -> None:
    network = make_network(EXAMPLES)
    views = [show(0, 1, seed=5), show(2, 3, seed=6)]
    examples = [
        replace(example, features=gather(view))
        for example, view in zip(EXAMPLES[:2], views, strict=True)
    ]
    captions = [caption for example in examples for caption in example.captions]
    evaluator = NetworkEvaluator(network)
    expected = np.stack([evaluator.score(view, captions) for view in views], axis=1)
    np.testing.assert_allclose(ValidationSet(examples).score(network), expected, atol=1e-6)
