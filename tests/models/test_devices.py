"""Every model, its training and its use on a device that is not the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from tests.models.another_device import DEVICE, Away, another_device, send
from tests.models.plain_scores import log_likelihood
from tests.models.small_captioners import (
    KINDS,
    Kind,
    encode_sentences,
    make_captioner,
    make_streams,
)
from tests.models.small_corpus import Corpus, make_corpus
from tests.models.small_corpus import make_task as make_sentence_task
from tests.models.small_examples import make_evaluator, make_examples, make_network, show
from tests.models.small_views import FEATURES, WORDS, make_view
from tests.models.small_world import SAMPLING, make_model
from torch import Tensor, nn

from densevidcap.config import (
    DecodingConfig,
    EvaluatorTrainingConfig,
    EyesConfig,
    OptimisationConfig,
    SentenceTrainingConfig,
    WordsConfig,
    WordTrainingConfig,
)
from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.decoding.generate import compare, sample, search
from densevidcap.errors import ModelError
from densevidcap.models.backbones import BACKBONES
from densevidcap.models.category import CategoryClassifier, CategoryTask
from densevidcap.models.device import (
    device_of,
    move,
    resolve_device,
    resolve_engine,
    short_float,
)
from densevidcap.models.fusion import StreamFusion
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.train.evaluator import EvaluatorTask
from densevidcap.train.feature_cache import cache_features
from densevidcap.train.loop import Task, TrainingLoop
from densevidcap.train.words import WordTask
from densevidcap.types import Frames

CPU = torch.device("cpu")


@pytest.fixture
def elsewhere() -> Iterator[None]:
    with another_device():
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(tmp_path_factory.mktemp("corpus"), clips=4)


def test_the_other_device_and_the_cpu_do_not_mix(elsewhere: None) -> None:  # noqa: ARG001
    """What the tests below rest on."""
    there = torch.ones(3, device=DEVICE)
    assert isinstance(there, Away)
    assert isinstance(there + torch.tensor(1.0), Away)
    assert not isinstance(there.cpu(), Away)
    with pytest.raises(RuntimeError, match="a CPU tensor"):
        there + torch.ones(3)
    with pytest.raises(RuntimeError, match="a CPU tensor"):
        torch.cat([there, torch.zeros(3)])
    with pytest.raises(RuntimeError):
        there.numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_captioners_say_the_same_there(kind: Kind, elsewhere: None) -> None:  # noqa: ARG001
    captioner, streams = make_captioner(kind), make_streams([4, 1, 3])
    sentences = encode_sentences(captioner.vocabulary)[:3]
    ids = [[5, 6], [5, 7, 8]]
    config = DecodingConfig(beam=3, samples=4, max_length=6)
    here = search(captioner, streams, config), sample(captioner, streams, config)
    compared = compare(captioner, streams, ids).numpy()
    likely = log_likelihood(captioner, streams, sentences).detach().numpy()
    send(captioner)
    streams = streams.to(DEVICE)
    there = search(captioner, streams, config), sample(captioner, streams, config)
    for ours, theirs in zip(there, here, strict=True):
        assert [[s.ids for s in row] for row in ours] == [[s.ids for s in row] for row in theirs]
    np.testing.assert_allclose(compare(captioner, streams, ids).cpu().numpy(), compared)
    found = log_likelihood(captioner, streams, sentences.to(DEVICE)).detach().cpu().numpy()
    np.testing.assert_allclose(found, likely)


def test_missing_and_dropped_streams_there(elsewhere: None) -> None:  # noqa: ARG001
    torch.manual_seed(0)
    fusion = StreamFusion({"regions": 5}, {"words": 7}, 4, 0.5, {"regions": 0.5})
    send(fusion)
    streams = make_streams([2, 3]).to(DEVICE)
    floats = {name: stream.float() for name, stream in {**streams.frames, **streams.whole}.items()}
    missing = {"words": torch.tensor([True, False]).to(DEVICE)}
    seen = fusion(type(streams)(floats, floats, streams.lengths, missing))
    assert isinstance(seen.frames, Away)
    assert isinstance(seen.padding, Away)


def test_an_evaluator_scores_the_same_there(elsewhere: None) -> None:  # noqa: ARG001
    evaluator, view = make_evaluator(), show(0, 1)
    sentences = ("a dog and a cat are there", "a boat")
    for sequences in (None, [0, 2]):
        here = evaluator.score(view, sentences, sequences)
        away = deepcopy(evaluator)
        send(away.network)
        np.testing.assert_array_equal(away.score(view, sentences, sequences), here)


def test_categories_are_the_same_there(elsewhere: None) -> None:  # noqa: ARG001
    torch.manual_seed(0)
    classifier, view = CategoryClassifier(("a", "b"), FEATURES, WORDS), make_view(2)
    here = classifier.classify(view)
    send(classifier)
    np.testing.assert_array_equal(classifier.classify(view), here)


@pytest.mark.parametrize(
    "eyes",
    [
        EyesConfig("lite0", size=96, window=2, stride=1),
        EyesConfig("resnet50", size=64, window=2, stride=1),
        EyesConfig("tiny-vit", size=42, window=2, stride=1),
    ],
)
def test_words_are_read_there(
    eyes: EyesConfig,
    monkeypatch: pytest.MonkeyPatch,
    elsewhere: None,  # noqa: ARG001
) -> None:
    monkeypatch.setitem(BACKBONES, "tiny-vit", "tests.models.tiny_vit:TinyViT")
    torch.manual_seed(0)
    lexicon = Lexicon([LexiconEntry("dog", 9, 1, "NOUN"), LexiconEntry("cat", 8, 1, "NOUN")])
    model = LexicalFCN(lexicon, eyes, WordsConfig(hidden=8)).eval()
    images = np.random.default_rng(0).integers(0, 256, (2, *model.encoder.size, 3), np.uint8)
    frames = Frames(images, np.arange(2.0))
    here = model.read(frames)
    send(model)
    there = model.read(frames)
    np.testing.assert_allclose(there.probabilities, here.probabilities, atol=1e-6)
    np.testing.assert_allclose(there.features, here.features, rtol=1e-3, atol=1e-4)


def word_task(
    corpus: Corpus, folder: Path, tuned: int, paradigm: Literal["mimll", "mil", "mll"] = "mimll"
) -> Task:
    model = make_model(corpus.words.lexicon)
    stage = len(model.encoder.backbone.stages()) - tuned if tuned else None
    records = corpus.records[:4]
    cache, _ = cache_features(records, model.encoder, folder, SAMPLING, stage)
    options = WordTrainingConfig(
        paradigm=paradigm, tuned=tuned, batch=3, frames_per_clip=0, bag="clip"
    )
    return WordTask(model, cache, records[1:], records[:1], options)


def sentence_task(corpus: Corpus, _: Path) -> Task:
    torch.manual_seed(0)
    return make_sentence_task(corpus, SentenceTrainingConfig(batch=64), held_out=2)


def category_task(*_: object) -> Task:
    torch.manual_seed(0)
    clips = [(make_view(2, seed=seed), "ab"[seed % 2]) for seed in range(4)]
    return CategoryTask(CategoryClassifier(("a", "b"), FEATURES, WORDS), clips, clips)


def evaluator_task(*_: object) -> Task:
    examples, options = make_examples(6), EvaluatorTrainingConfig(batch=8)
    return EvaluatorTask(make_network(examples), examples, examples, options)


TASKS: dict[str, Callable[[Corpus, Path], Task]] = {
    "words": lambda corpus, folder: word_task(corpus, folder, 0),
    "words-tuned": lambda corpus, folder: word_task(corpus, folder, 1),
    "words-mil": lambda corpus, folder: word_task(corpus, folder, 0, "mil"),
    "words-mll": lambda corpus, folder: word_task(corpus, folder, 0, "mll"),
    "sentences": sentence_task,
    "category": category_task,
    "evaluator": evaluator_task,
}


@pytest.mark.parametrize("name", TASKS)
def test_training_is_the_same_there(name: str, corpus: Corpus, tmp_path: Path) -> None:
    """All of it: batches, steps, averages, validation, and going on from a checkpoint."""
    options = OptimisationConfig(epochs=2, average=0.9, checkpoint_seconds=0.0)
    task = TASKS[name](corpus, tmp_path)
    here = TrainingLoop(task, options, tmp_path / "here").train()[-1]
    weights = nn.utils.parameters_to_vector(task.model.parameters()).tolist()
    with another_device():
        task = TASKS[name](corpus, tmp_path)
        send(task.model)
        first = _Stopping(task, steps=1)
        with pytest.raises(KeyboardInterrupt):
            TrainingLoop(first, options, tmp_path / "there", DEVICE).train()
        task = TASKS[name](corpus, tmp_path)
        send(task.model)
        there = TrainingLoop(task, options, tmp_path / "there", DEVICE).train()[-1]
        assert device_of(task.model) == DEVICE
        found = nn.utils.parameters_to_vector(task.model.parameters()).cpu().tolist()
    assert there == pytest.approx(here, rel=1e-3)
    np.testing.assert_allclose(found, weights, rtol=1e-3, atol=1e-4)


class _Stopping:
    """A task that is interrupted after so many steps."""

    def __init__(self, task: Task, steps: int) -> None:
        self._task, self._left = task, steps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    def loss(self, batch: Any) -> Tensor:
        if not self._left:
            raise KeyboardInterrupt
        self._left -= 1
        return self._task.loss(batch)


def test_batches_of_all_shapes_are_moved(elsewhere: None) -> None:  # noqa: ARG001
    streams, sentences = make_streams([1, 2]), torch.zeros(2, 3)
    moved = move((streams, (sentences, "name")), DEVICE)
    assert isinstance(moved[0].lengths, Away)
    assert isinstance(moved[1][0], Away)
    assert moved[1][1] == "name"


def test_auto_is_the_best_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for cuda, mps, best in ((True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda mps=mps: mps)
        assert resolve_device("auto") == torch.device(best)
    assert resolve_device("cpu") == CPU


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ModelError, match="torch finds no cuda on this machine: set device to auto"):
        resolve_device("cuda")
    for name in ("gpu", "meta", "cuda:x"):
        with pytest.raises(ModelError, match=f"no device '{name}': choose one of auto, cpu"):
            resolve_device(name)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert resolve_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ModelError, match="torch finds no cuda:2"):
        resolve_device("cuda:2")


def train_category(folder: Path, mixed: bool) -> Tensor:
    """The weights that a short training ends in."""
    task = category_task()
    TrainingLoop(task, OptimisationConfig(epochs=2, mixed_precision=mixed), folder).train()
    weights = nn.utils.parameters_to_vector(task.model.parameters())
    assert weights.dtype == torch.float32
    return weights


def test_mixed_precision_changes_nothing_where_it_is_not_fast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False, raising=False)
    assert torch.equal(*(train_category(tmp_path / str(mixed), mixed) for mixed in (False, True)))


def test_mixed_precision_learns_nearly_the_same_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other CPUs imitate bfloat16, so that this runs on all of them."""
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True, raising=False)
    whole, short = (train_category(tmp_path / str(mixed), mixed) for mixed in (False, True))
    assert not torch.equal(whole, short)
    torch.testing.assert_close(short, whole, rtol=0, atol=5e-3)


def test_float16_is_never_used_without_a_scaler() -> None:
    assert short_float(torch.device("cuda")) == torch.float16
    assert short_float(torch.device("mps")) is None


def test_the_engine_is_the_fastest_that_is_near_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    for native, best in ((True, torch.bfloat16), (False, torch.float32)):
        has = lambda native=native: native  # noqa: E731
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", has, raising=False)
        assert resolve_engine("auto", CPU) == best
        assert resolve_engine("float32", CPU) == torch.float32
        assert resolve_engine("bfloat16", CPU) == torch.bfloat16
        assert resolve_engine("auto", torch.device("cuda")) == torch.float32
