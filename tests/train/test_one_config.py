"""One config: what a model is trained with, captioning does.

A tiny model is trained with a value of its own for every setting. A setting that captioning reads
is then set back: if nothing changes, captioning did not use what training was given.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import torch

from densevidcap.config import ModelConfig
from densevidcap.data.clip import open_clip
from densevidcap.data.manifest import read_manifest
from densevidcap.decoding.select import choose
from densevidcap.examples import World, write_world
from densevidcap.model_folder import read_model_config
from densevidcap.models.evaluator_network import NetworkEvaluator
from densevidcap.models.views import ClipView
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.pipeline.captions import choose_captions
from densevidcap.pipeline.generator import CaptionGenerator
from densevidcap.progress import Silent
from densevidcap.train.model import ModelTraining, read_corpus
from densevidcap.types import FloatArray, Hypothesis

READ: dict[str, Any] = {
    "frames.most": 6,
    "frames.strategy": "random",
    "frames.seed": 3,
    "frames.per_shot": "always",
    "frames.longest": 2.5,
    "regions.k": 3,
    "regions.terms": {"informativeness": 1.0, "divergence": 2.0, "coherence": 20.0},
    "regions.scaling": "paper",
    "regions.search": "celf",
    "regions.budget": 2,
    "captioner.most_frames": 2,
    "decoding.beam": 2,
    "decoding.samples": 6,
    "decoding.temperature": 2.0,
    "decoding.max_length": 6,
    "decoding.length_penalty": 0.0,
    "decoding.no_repeat_ngram": 1,
    "decoding.categories": 3,
    "decoding.candidates": 12,
    "decoding.seed": 7,
    "decoding.doubt": 2.0,
    "decoding.mentions": 2,
    "decoding.evaluator": 0.9,
    "selection.k": 6,
    "selection.diversity": 500.0,
    "selection.specificity": 500.0,
    "selection.reuse": 700.0,
    "selection.detail": 30.0,
    "selection.telling": 0,
    "selection.coverage": 50.0,
    "selection.sure": 0.0,
    "wording.case": "raw",
    "confidence.evidence": 0.9,
    "confidence.level": 1.0,
    "confidence.smooth": 1,
}
"""Settings that captioning reads from the model's config."""

BUILT: dict[str, Any] = {
    "device": "cpu",
    "eyes.backbone": "lite0",
    "eyes.size": 96,
    "eyes.window": 1,
    "eyes.stride": 1,
    "words.hidden": 16,
    "words.whole": 9,
    "streams.frame_level": ("regions", "frames"),
    "streams.clip_level": ("words", "category"),
    "streams.lexicon_size": 7,
    "streams.region_voice": 0.3,
    "captioner.kind": "s2vt",
    "captioner.hidden": 12,
    "captioner.embedding": 8,
    "captioner.anchor": False,
    "evaluator.width": 6,
    "evaluator.hidden": 10,
    "evaluator.embedding": 4,
}
"""Settings that the networks are built by, once and for all."""

TRAINED = {
    *("lexicon", "association", "training", "about"),
    *("regions.weights", "regions.threshold", "regions.training_words"),
    *("eyes.rows", "eyes.columns", "eyes.features"),
    *("words.shaping", "words.dropout", "streams.dropout", "captioner.dropout"),
    *("evaluator.dropout", "evaluator.sequence_dropout"),
    *("captioner.forget_bias", "captioner.visual_gain", "captioner.drop_codes"),
}
"""Sections and settings that training alone has a use for."""

DRAWN = "boxes"
"""The section of what changes nothing but boxes: `tests/regions/test_boxes.py` has its settings."""

ELSEWHERE = {
    *("scenes", "selection.silence", "wording.looks", "wording.gender", "wording.topics"),
    *(
        "selection.news",
        "wording.english",
        "streams.snippets",
        "captioner.order",
        "engine",
        "frames.still",
        "frames.every",
        "frames.least",
    ),
    *("evaluator.kind", "evaluator.rank", "evaluator.sharpness"),
    *("evaluator.ridge", "evaluator.least_clips"),
}
"""What makes no difference to clips of coloured shapes, without motion, or that are no films, to
eyes that are no transformers, or to an evaluator that is a network: `test_trust_options.py`,
`test_wording.py`, `test_extractors.py`, `test_systems.py`, `test_scenes.py`, `test_fcn.py`,
`test_sampling.py` and `test_evaluator_regression.py` have these."""

OTHERS = {"frames.per_shot": "never", "selection.sure": 1.0, "selection.telling": 9}
"""What to compare with where the default does the same here: the clips are `long` ones."""

SHORT = {
    "engine": "float32",
    "lexicon.min_count": 2,
    "training.sentences.min_count": 1,
    "training.words": [{"epochs": 20, "learning_rate": 5e-3, "frames_per_clip": 4, "batch": 4}],
    "training.sentences.epochs": 6,
    "training.sentences.learning_rate": 5e-3,
    "training.sentences.batch": 16,
    "training.evaluator.min_count": 1,
    "training.evaluator.epochs": 1,
}
CONFIG = ModelConfig().override({"streams.dropout": {}, **BUILT, **READ, **SHORT})


def list_settings(kind: Any = ModelConfig, prefix: str = "") -> Iterator[str]:
    """Dotted names of all settings, but for what training alone reads, and boxes."""
    types = get_type_hints(kind)
    for field in fields(kind):
        name = f"{prefix}{field.name}"
        if name in TRAINED | ELSEWHERE or name == DRAWN:
            continue
        if is_dataclass(types[field.name]):
            yield from list_settings(types[field.name], f"{name}.")
        else:
            yield name


def read_setting(config: ModelConfig, name: str) -> Any:
    value: Any = config
    for part in name.split("."):
        value = getattr(value, part)
    return value


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("one")
    corpus = read_corpus(write_world(folder, range(10), World(size=96, frames=24)))
    with pytest.MonkeyPatch.context() as patch:
        # As if the extra `eval` were not installed, which saves METEOR's ten seconds.
        for name in [name for name in sys.modules if name.startswith("pycocoevalcap")]:
            patch.delitem(sys.modules, name)
        patch.setitem(sys.modules, "pycocoevalcap", None)
        ModelTraining(corpus, CONFIG, folder / "model").train(Silent())
    return folder / "model"


class Recorder(CaptionGenerator):
    """Keeps all that it proposed: most of it is not chosen in the end."""

    proposed: list[Hypothesis]

    def propose(
        self,
        view: ClipView,
        config: ModelConfig,
        sequences: Sequence[int] | None = None,
        costs: FloatArray | None = None,
        is_alone: bool | None = None,
    ) -> list[Hypothesis]:
        found = super().propose(view, config, sequences, costs, is_alone)
        self.proposed += found
        return found


@cache
def load(model: Path) -> DenseCaptioner:
    whole = DenseCaptioner.load(model)
    recorder = Recorder.load(model / "sentences")
    assert isinstance(recorder, Recorder)
    recorder.proposed = []
    whole.generator = recorder
    # Surer than ten clips can make it, so that what depends on confidence has something to do.
    whole.trust = replace(whole.trust, weights={"agreement": 4.0}, offset=-2.0)
    return whole


def describe(model: Path, **settings: Any) -> list[Any]:
    """All that captioning finds in three clips, in a form that can be compared."""
    found: list[Any] = []
    generator = load(model).generator
    assert isinstance(generator, Recorder)
    generator.proposed = []
    records = list(read_manifest(model.parent / "manifest.jsonl"))
    for record in records[:3]:
        analysis = load(model).analyse(open_clip(str(record.source)), settings)
        found.append(replace(choose_captions(analysis), settings={}))
        for segment in analysis.segments:
            candidates = segment.candidates
            found.append((segment.times.tolist(), segment.paths.tolist()))
            found.append((candidates.sentences, candidates.scores.tolist()))
            found.append(choose(candidates, analysis.config.selection))
    return [*found, *generator.proposed]


@cache
def describe_as_trained(model: Path) -> list[Any]:
    return describe(model)


def test_no_setting_is_forgotten() -> None:
    """A new one has to be listed above, and so to be shown to work."""
    assert set(list_settings()) == READ.keys() | BUILT.keys()
    for name in list_settings():
        assert read_setting(CONFIG, name) != read_setting(ModelConfig(), name), name


def test_the_card_has_what_the_model_was_trained_with(model: Path) -> None:
    for folder in (model, *(model / stage for stage in ("words", "sentences", "evaluator"))):
        assert read_model_config(folder) == CONFIG
    assert load(model).config == CONFIG


@pytest.mark.parametrize("name", READ)
def test_captioning_does_as_the_model_was_trained(model: Path, name: str) -> None:
    as_trained = describe_as_trained(model)
    assert describe(model, **{name: READ[name]}) == as_trained
    other = OTHERS.get(name, read_setting(ModelConfig(), name))
    assert describe(model, **{name: other}) != as_trained


def test_networks_are_built_as_the_config_says(model: Path) -> None:
    whole = load(model)
    (record, *_) = read_manifest(model.parent / "manifest.jsonl")
    grid = whole.analyse(open_clip(str(record.source))).segments[0].grid
    assert (grid.rows, grid.columns, grid.window, grid.stride) == (3, 3, 1, 1)
    assert whole.words.head.shared.out_features == 16
    assert whole.words.branch is not None
    assert len(whole.words.branch.words.bias) == 9
    captioner, evaluator = whole.generator.captioner, whole.evaluator
    assert captioner.config == CONFIG.captioner
    assert tuple(captioner.widths.frame_level) == ("regions", "frames")
    assert tuple(captioner.widths.clip_level) == ("words", "category")
    assert captioner.widths.clip_level["words"] == 7
    assert captioner.words.weight.shape[1] == 8
    assert any(each.is_alone for each in describe_as_trained(model) if isinstance(each, Hypothesis))
    assert isinstance(evaluator, NetworkEvaluator)
    assert evaluator.network.config == CONFIG.evaluator
    for network in (whole.words, captioner, evaluator.network):
        assert {parameter.device for parameter in network.parameters()} == {torch.device("cpu")}
