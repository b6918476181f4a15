"""Streams that are read from clips themselves, from the cache to the sentence."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.models.mean_colour import MeanColour
from tests.models.small_world import SAMPLING, make_lexicon, make_model, write_corpus

from densevidcap.config import ModelConfig
from densevidcap.data.clip import open_clip
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.errors import ClipError
from densevidcap.models.fusion import StreamProjection
from densevidcap.models.streams import (
    STREAMS,
    ClipMean,
    extract_streams,
    find_stream,
    list_extracted,
    make_streams,
)
from densevidcap.models.views import Row, look
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.progress import Silent
from densevidcap.repro.definition import About
from densevidcap.repro.runner import Paths, Runner
from densevidcap.train.evaluator import EvaluatorStage
from densevidcap.train.feature_cache import (
    cache_features,
    cache_streams,
    fit_streams,
    read_extracted,
)
from densevidcap.train.sentences import SentenceStage

NAMES = ("mean_colour", "first_colour")
CONFIG = ModelConfig().override(
    {
        "frames.most": 3,
        "regions.k": 4,
        "streams.lexicon_size": 20,
        "captioner.hidden": 8,
        "captioner.embedding": 8,
        "training.sentences.min_count": 1,
        "training.sentences.batch": 64,
        "training.sentences.epochs": 2,
        "evaluator.width": 8,
        "training.evaluator.min_count": 1,
        "training.evaluator.epochs": 1,
    }
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of each in the registry."""
    monkeypatch.setitem(STREAMS, "mean_colour", "tests.models.mean_colour:MeanColour")
    monkeypatch.setitem(STREAMS, "first_colour", "tests.models.mean_colour:FirstColour")
    for name in NAMES:
        stream = find_stream(name)
        assert isinstance(stream, MeanColour)
        stream.asked.clear()
        stream.lacking.clear()
        stream.broken.clear()


def colours() -> MeanColour:
    stream = find_stream("mean_colour")
    assert isinstance(stream, MeanColour)
    return stream


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    manifest = write_corpus(tmp_path_factory.mktemp("world"), clips=6)
    make_model(make_lexicon(list(read_manifest(manifest)))).save(manifest.parent / "words", {})
    return manifest


@pytest.fixture
def records(manifest: Path) -> Sequence[ClipRecord]:
    return list(read_manifest(manifest))


def learn(manifest: Path, config: ModelConfig, folder: Path) -> SentenceStage:
    """A captioner, trained to the end, in a model folder."""
    words = manifest.parent / "words"
    stage = SentenceStage(folder / "sentences", config, manifest, words, folder / "cache")
    stage.run(Silent())
    assert not stage.left_out
    (folder / "words").symlink_to(words)
    return stage


def test_they_are_extracted_once_and_a_clip_without_is_not_asked_again(
    records: Sequence[ClipRecord], tmp_path: Path
) -> None:
    model = make_model(make_lexicon(records))
    colours().lacking.add(str(records[1].source))
    features, _ = cache_features(records, model.encoder, tmp_path, SAMPLING)
    streams = list_extracted(("regions", *NAMES))
    for _ in range(2):
        caches = cache_streams(records, streams, features, tmp_path, SAMPLING)
    assert colours().asked == [record.source for record in records]
    assert caches.keys() == {*NAMES}
    for record in records:
        clip, times = open_clip(str(record.source)), features.times(record.id)
        cached = read_extracted(caches, record.id)
        direct = extract_streams(streams, clip, times, (0.0, 99.0))
        assert cached.keys() == direct.keys()
        assert ("mean_colour" in cached) == (record is not records[1])
        for name, values in direct.items():
            np.testing.assert_allclose(cached[name], values, rtol=1e-3)
            assert values.shape == ((len(times), 3) if name == "mean_colour" else (3,))


def test_what_streams_learn_needs_no_clip_that_is_gone(
    records: Sequence[ClipRecord], tmp_path: Path
) -> None:
    gone = [
        replace(records[0], id="gone", source=str(tmp_path / "gone.mp4")),
        replace(records[0], id="none", source=None),
    ]
    streams = list_extracted(NAMES)
    assert fit_streams([*records, *gone], streams, tmp_path).keys() == streams.keys()


def test_one_that_cannot_be_read_is_told_of_until_it_can(
    records: Sequence[ClipRecord], tmp_path: Path
) -> None:
    model = make_model(make_lexicon(records))
    colours().broken.add(str(records[1].source))
    features, _ = cache_features(records, model.encoder, tmp_path, SAMPLING)
    streams = list_extracted(NAMES)
    for _ in range(2):
        listener = Listener()
        caches = cache_streams(records, streams, features, tmp_path, SAMPLING, listener)
        assert len(listener.told) == 1
        assert f"without its stream mean_colour: {records[1].id}: " in listener.told[0]
        assert "colours are upside down" in listener.told[0]
        found = {record.id: read_extracted(caches, record.id) for record in records}
        lacking = [clip for clip, values in found.items() if "mean_colour" not in values]
        assert lacking == [records[1].id]
        assert all("first_colour" in values for values in found.values())
    with pytest.raises(ClipError, match="colours are upside down"):
        cache_streams(records, streams, features, tmp_path, SAMPLING, fail_fast=True)
    colours().broken.clear()
    cache_streams(records, streams, features, tmp_path, SAMPLING, listener := Listener())
    assert not listener.told


class Listener(Silent):
    def __init__(self) -> None:
        self.told: list[str] = []

    def say(self, line: str) -> None:
        self.told.append(line)


def test_training_goes_on_without_one_that_cannot_be_read(
    manifest: Path, records: Sequence[ClipRecord], tmp_path: Path
) -> None:
    colours().broken.add(str(records[2].source))
    config = CONFIG.override({"streams.frame_level": ("centred", "mean_colour")})
    stage = learn(manifest, config, tmp_path)
    assert len(stage.clips) == len(records)
    lacking = [r.id for r in records if not stage.views.view(r.id).extracted]
    assert lacking == [records[2].id]
    assert DenseCaptioner.load(tmp_path).generator.extracted.keys() == {"mean_colour"}


def test_other_numbers_have_another_cache(records: Sequence[ClipRecord], tmp_path: Path) -> None:
    model = make_model(make_lexicon(records))
    features, _ = cache_features(records, model.encoder, tmp_path, SAMPLING)
    folders = set()
    for numbers in (torch.float32, torch.bfloat16):
        stream = copy(colours())
        stream.numbers = numbers
        caches = cache_streams(records, {"mean_colour": stream}, features, tmp_path, SAMPLING)
        folders.add(caches["mean_colour"].folder)
    assert len(folders) == 2


def test_the_mean_of_a_clip_is_a_stream_of_its_own(
    manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it is the mean of is read from the clip, and need not be a stream itself."""
    monkeypatch.setitem(STREAMS, "clip_colour", ClipMean("mean_colour"))
    config = CONFIG.override({"streams.clip_level": ("clip_words", "clip_colour")})
    stage = learn(manifest, config, tmp_path)
    view = stage.views.view(stage.clips[0].id)
    streams = make_streams(look(view)[:1], (), ("clip_colour",))
    expected = view.extracted["mean_colour"].mean(axis=0)
    np.testing.assert_allclose(streams.whole["clip_colour"][0], expected, rtol=1e-5)
    model = DenseCaptioner.load(tmp_path)
    assert model.generator.extracted.keys() == {"mean_colour"}
    assert model.generator.captioner.widths.clip_level["clip_colour"] == 3
    settings = {"regions.k": 2, "decoding.beam": 2, "decoding.samples": 0}
    assert len(model.caption(str(stage.clips[0].source), frames=3, settings=settings)) > 0
    missing = make_streams(
        [Row(replace(view, extracted={}), 0, np.arange(2))], (), ("clip_colour",)
    )
    assert "clip_colour" not in missing.whole


def test_they_are_learned_from_and_spoken_of(
    manifest: Path, records: Sequence[ClipRecord], tmp_path: Path
) -> None:
    """One clip of the corpus, and one of those to describe, has none."""
    lacking = records[2]
    colours().lacking.add(str(lacking.source))
    config = CONFIG.override(
        {
            "streams.frame_level": ("centred", "mean_colour"),
            "streams.clip_level": ("clip_words", "first_colour"),
        }
    )
    stage = learn(manifest, config, tmp_path)
    views = [stage.views.view(record.id) for record in records]
    streams = make_streams([look(view)[0] for view in views], ("mean_colour",), ("first_colour",))
    assert streams.missing["mean_colour"].tolist() == [record is lacking for record in records]
    assert "first_colour" not in streams.missing

    model = DenseCaptioner.load(tmp_path)
    projection = model.generator.captioner.fusion.frames["mean_colour"]
    assert isinstance(projection, StreamProjection)
    assert projection.linear.in_features == 3
    colours().asked.clear()
    settings = {"regions.k": 2, "decoding.beam": 2, "decoding.samples": 2}
    for record in records[2:4]:
        assert len(model.caption(str(record.source), frames=3, settings=settings)) > 0
    assert colours().asked == [record.source for record in records[2:4]]


def test_what_they_show_changes_what_is_said(manifest: Path, tmp_path: Path) -> None:
    config = CONFIG.override(
        {
            "streams.frame_level": ("mean_colour",),
            "streams.clip_level": (),
            "captioner.dropout": 0.0,
            "training.sentences.batch": 16,
            "training.sentences.epochs": 1,
            "training.sentences.learning_rate": 1e-2,
        }
    )
    stage = learn(manifest, config, tmp_path)
    model = DenseCaptioner.load(tmp_path)
    view = stage.views.view(stage.clips[0].id)
    other = replace(view, extracted={"mean_colour": np.flip(view.extracted["mean_colour"], 1)})
    without = replace(view, extracted={})
    exactly = model.config.override({"engine": "float32"})
    found = [model.generator.compare(each, [[4, 5]], exactly) for each in (view, other, without)]
    assert not np.allclose(found[0], found[1])
    assert not np.allclose(found[0], found[2])


def test_experiments_measure_with_them(manifest: Path, tmp_path: Path) -> None:
    config = CONFIG.override({"streams.frame_level": ("centred", "mean_colour")})
    stage = learn(manifest, config, tmp_path)
    paths = Paths(tmp_path, manifest, manifest, tmp_path, tmp_path / "cache", tmp_path / "runs")
    runner = Runner(paths, About("t", "single", "train"), Silent())
    views = runner.view(tmp_path / "sentences", tmp_path / "words")
    assert views
    for clip, view in views.items():
        learned = stage.views.view(clip).extracted
        assert view.extracted.keys() == learned.keys() == {"mean_colour"}
        np.testing.assert_array_equal(view.extracted["mean_colour"], learned["mean_colour"])


def test_an_evaluator_does_without_them(manifest: Path, tmp_path: Path) -> None:
    config = CONFIG.override({"streams.frame_level": ("centred", "mean_colour")})
    words = manifest.parent / "words"
    EvaluatorStage(tmp_path / "model", config, manifest, words, tmp_path / "cache").run(Silent())
    assert colours().asked == []
