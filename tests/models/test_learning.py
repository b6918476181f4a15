"""Learning words from clips of the test world."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from tests.models.small_world import SAMPLING, make_model, read_corpus, write_corpus
from torch.nn import functional as F

from densevidcap.config import OptimisationConfig, WordsConfig, WordTrainingConfig
from densevidcap.data.manifest import ClipRecord
from densevidcap.errors import CorpusError, ModelError
from densevidcap.metrics.detection import average_precision
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.train.feature_cache import FeatureCache, cache_features, gather
from densevidcap.train.loop import TrainingLoop
from densevidcap.train.words import WordTask, label_clips, measure_losses

Corpus = tuple[list[ClipRecord], LexicalFCN, FeatureCache]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return read_corpus(write_corpus(tmp_path_factory.mktemp("world")))


def make_task(corpus: Corpus, options: WordTrainingConfig, held_out: int = 4) -> WordTask:
    records, model, cache = corpus
    return WordTask(
        make_model(model.lexicon), cache, records[held_out:], records[:held_out], options
    )


def test_labels_are_the_words_of_all_captions(corpus: Corpus) -> None:
    records, model, _ = corpus
    for record, labels in zip(records, label_clips(model, records), strict=True):
        said = {word for caption in record.captions for word in caption.split()}
        found = {word for word, label in zip(model.lexicon.words, labels, strict=True) if label}
        assert found == said & set(model.lexicon.words)
    assert label_clips(model, []).shape == (0, len(model.lexicon))


def test_an_epochs_batches_are_always_the_same_and_hold_each_clip_once(corpus: Corpus) -> None:
    task = make_task(corpus, WordTrainingConfig(batch=6))
    assert task.steps_per_epoch() == len(list(task.batches(0))) == 3
    first, again, other = (list(task.batches(epoch)) for epoch in (0, 0, 1))
    assert all(torch.equal(a.features, b.features) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0].features, other[0].features)
    labels = torch.cat([batch.labels for batch in first])
    assert sorted(labels.tolist()) == sorted(task.targets.tolist())


@pytest.mark.parametrize("bag", ["frame", "clip"])
def test_loss_is_a_mean_over_clips_of_sums_over_words(corpus: Corpus, bag: str) -> None:
    """However many frames a clip has, it counts once."""
    task = make_task(corpus, WordTrainingConfig(bag=bag, frames_per_clip=2))  # type: ignore[arg-type]
    task.model.eval()
    batch = next(task.batches(0))
    keep = torch.ones(len(batch.owners), dtype=torch.bool)
    keep[1] = False  # the first clip loses a frame
    batch = batch._replace(features=batch.features[keep], owners=batch.owners[keep])
    expected = []
    for clip, labels in enumerate(batch.labels):
        logits = task.model.head(batch.features[batch.owners == clip]).double()
        misses = (1 - torch.sigmoid(logits)).prod(dim=1)
        if bag == "clip":
            misses = misses.prod(dim=0, keepdim=True)
        of_frames = F.binary_cross_entropy(
            1 - misses, labels.double().expand_as(misses), reduction="none"
        )
        expected.append(of_frames.sum(dim=1).mean())
    loss = task.loss(batch).double()
    torch.testing.assert_close(loss, torch.stack(expected).mean(), rtol=1e-4, atol=0)


def test_a_branch_for_whole_frames_learns_beside_the_regions(
    corpus: Corpus, tmp_path: Path
) -> None:
    records, known, cache = corpus
    options = WordTrainingConfig(batch=8, frames_per_clip=2)
    told = 5
    model = make_model(known.lexicon, WordsConfig(hidden=32, whole=told))
    task, plain = WordTask(model, cache, records, [], options), make_task(corpus, options, 0)
    model.head.load_state_dict(plain.model.head.state_dict())
    batch = next(task.batches(0))
    assert model.branch is not None
    logits = model.branch(batch.features.mean(dim=1)).double()
    expected = F.binary_cross_entropy_with_logits(
        logits, batch.labels[batch.owners, :told].double(), reduction="none"
    )
    beside = task.loss(batch) - plain.loss(batch)
    torch.testing.assert_close(beside.double(), expected.sum(dim=1).mean(), rtol=1e-3, atol=1e-3)
    for each in (task, plain):
        each.loss(batch).backward()  # type: ignore[no-untyped-call]
    for ours, theirs in zip(model.head.parameters(), plain.model.head.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)

    def rank() -> float:
        scores = task.score(task.clips)[0]
        return float(np.nanmean(average_precision(scores, task.labels)[:told]))

    chance = rank()
    with torch.no_grad():  # regions that know nothing
        model.head.words.weight.zero_()
    rates = OptimisationConfig(epochs=20, learning_rate=5e-3)
    TrainingLoop(task, rates, tmp_path).train()
    with torch.no_grad():
        model.head.words.weight.zero_()
    assert rank() > chance + 0.2


@pytest.mark.parametrize(("paradigm", "gain"), [("mimll", 0.3), ("mll", 0.3), ("mil", 0.02)])
def test_each_paradigm_learns_its_clips(
    corpus: Corpus, paradigm: Literal["mimll", "mll", "mil"], gain: float, tmp_path: Path
) -> None:
    """MIL little in this time: it is told one word of a clip at each step."""
    task = make_task(corpus, WordTrainingConfig(paradigm=paradigm, batch=8, frames_per_clip=2))
    chance = np.nanmean(average_precision(task.score(task.clips)[0], task.labels))
    options = OptimisationConfig(epochs=20, learning_rate=5e-3)
    history = TrainingLoop(task, options, tmp_path).train()
    learned = np.nanmean(average_precision(task.score(task.clips)[0], task.labels))
    assert history[-1]["loss"] < history[0]["loss"]
    assert learned > chance + gain
    assert {"map_frequent", "detection_precision", "chance_frequent"} <= history[-1].keys()


def test_training_begins_near_the_priors(corpus: Corpus) -> None:
    task = make_task(corpus, WordTrainingConfig())
    shown, most = task.score(task.clips)
    np.testing.assert_allclose(shown.mean(axis=0), task.targets.mean(axis=0), atol=0.1)
    assert (most < shown + 1e-6).mean() > 0.9


def test_a_clips_score_is_the_mean_of_its_frames_noisy_or(corpus: Corpus) -> None:
    task = make_task(corpus, WordTrainingConfig())
    shown, most = task.score(task.held_out)
    for clip, words, peak in zip(task.held_out, shown, most, strict=True):
        features, _ = gather(task.cache, [task.cache.rows(clip)])
        p = torch.sigmoid(task.model.head(features)).detach().double().numpy()
        np.testing.assert_allclose(words, (1 - (1 - p).prod(axis=1)).mean(axis=0), rtol=1e-4)
        np.testing.assert_allclose(peak, p.max(axis=(0, 1)), rtol=1e-4)


def test_tuned_stages_learn_and_the_others_stay(corpus: Corpus, tmp_path: Path) -> None:
    records, known, _ = corpus
    model = make_model(known.lexicon)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    stage = len(model.encoder.backbone.stages()) - 1
    cache, _ = cache_features(records, model.encoder, tmp_path, SAMPLING, stage)
    task = WordTask(model, cache, records, [], WordTrainingConfig(tuned=1))
    assert task.first_tuned == stage

    _, _, region_cache = corpus
    clip = records[0].id
    features, _ = gather(cache, [cache.rows(clip)])
    with torch.inference_mode():
        regions = task.split(features)[0].numpy()
    np.testing.assert_allclose(regions, region_cache.features(clip), rtol=0.02, atol=0.02)

    history = TrainingLoop(task, OptimisationConfig(epochs=1), tmp_path / "run").train()
    assert history == [{"epoch": 1, "step": 1, "loss": history[0]["loss"]}]
    changed = {n for n, tensor in model.state_dict().items() if not torch.equal(tensor, before[n])}
    tuned = {f"encoder.backbone.{n}" for n in ("_conv_head.weight", "_bn1.weight", "_bn1.bias")}
    assert changed == tuned | {name for name in before if name.startswith("head.")}


def test_what_cannot_be_learned_is_refused(corpus: Corpus) -> None:
    records, model, cache = corpus
    with pytest.raises(CorpusError, match="no clip to train on"):
        WordTask(model, cache, [], records, WordTrainingConfig())
    with pytest.raises(ModelError, match="tuned = 99 is more than the backbone's stages"):
        WordTask(model, cache, records, [], WordTrainingConfig(tuned=99))


@pytest.mark.parametrize("bag", ["frame", "clip"])
def test_what_is_left_of_the_loss_is_each_clips_own(corpus: Corpus, bag: str) -> None:
    """Its mean is the loss of a step that has all frames of all clips, and no dropout."""
    options = WordTrainingConfig(bag=bag, batch=99, frames_per_clip=0)  # type: ignore[arg-type]
    task = make_task(corpus, options, held_out=0)
    records, _, cache = corpus
    losses = measure_losses(task.model, cache, records, options)
    assert losses.shape == (len(records),)
    (batch,) = task.batches(0)
    np.testing.assert_allclose(losses.mean(), float(task.loss(batch).detach()), rtol=1e-5)
    few = measure_losses(task.model, cache, records[3:5], options)
    np.testing.assert_allclose(few, losses[3:5], rtol=1e-6)
    assert len(set(losses.tolist())) > 1
