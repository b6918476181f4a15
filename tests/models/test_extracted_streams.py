"""Streams that are read from clips themselves, from the cache to the sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.models.mean_colour import MeanColour
from tests.models.small_world import SAMPLING, make_lexicon, make_model, write_corpus

from densevidcap.config import StreamsConfig
from densevidcap.data.clip import open_clip
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.models.captioner import CaptionModelOptions
from densevidcap.models.streams import STREAMS, extract_streams, find_stream, look, make_streams
from densevidcap.pipeline.captioner import AnalysisOptions, DenseCaptioner
from densevidcap.train.feature_cache import cache_features, cache_streams, read_extracted
from densevidcap.train.loop import Silence, TrainingOptions
from densevidcap.train.run import AboutOptions
from densevidcap.train.sentences import SentenceOptions, SentencesFit, SentencesRecipe
from densevidcap.train.view_cache import ViewOptions

NAMES = ("mean_colour", "first_colour")


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


def test_they_are_extracted_once_and_a_clip_without_is_not_asked_again(
    records: Sequence[ClipRecord], tmp_path: Path
) -> None:
    model = make_model(make_lexicon(records))
    colours().lacking.add(str(records[1].source))
    features, _ = cache_features(records, model.encoder, tmp_path, SAMPLING)
    for _ in range(2):
        caches = cache_streams(records, ("regions", *NAMES), features, tmp_path, SAMPLING)
    assert colours().asked == [record.source for record in records]
    assert caches.keys() == {*NAMES}
    for record in records:
        clip, times = open_clip(str(record.source)), features.times(record.id)
        cached = read_extracted(caches, record.id)
        direct = extract_streams(NAMES, clip, times, (0.0, 99.0))
        assert cached.keys() == direct.keys()
        assert ("mean_colour" in cached) == (record is not records[1])
        for name, values in direct.items():
            np.testing.assert_allclose(cached[name], values, rtol=1e-3)
            assert values.shape == ((len(times), 3) if name == "mean_colour" else (3,))


def test_they_are_learned_from_and_spoken_of(
    manifest: Path, records: Sequence[ClipRecord], tmp_path: Path
) -> None:
    """One clip of the corpus, and one of those to describe, has none."""
    lacking = records[2]
    colours().lacking.add(str(lacking.source))
    recipe = SentencesRecipe(
        SAMPLING,
        StreamsConfig(("centred", "mean_colour"), ("clip_words", "first_colour")),
        CaptionModelOptions(hidden=8, embedding=8),
        ViewOptions(words=20, k=4),
        SentenceOptions(min_count=1, batch=64),
        TrainingOptions(epochs=2),
        AboutOptions(),
    )
    fit = SentencesFit(manifest, manifest.parent / "words", recipe, tmp_path / "sentences")
    assert not fit.read_clips(tmp_path / "cache", lambda: None, lambda: None)
    fit.train(Silence())
    views = [fit.library.view(record.id) for record in records]
    streams = make_streams([look(view)[0] for view in views], ("mean_colour",), ("first_colour",))
    assert streams.missing["mean_colour"].tolist() == [record is lacking for record in records]
    assert "first_colour" not in streams.missing

    (tmp_path / "words").symlink_to(manifest.parent / "words")
    captioner = DenseCaptioner.load(tmp_path)
    widths = captioner.describer.captioner.fusion
    assert widths.frames["mean_colour"].linear.in_features == 3  # type: ignore[union-attr]
    colours().asked.clear()
    options = AnalysisOptions(frames=3, sequences=2, beam=2, draws=2)
    for record in records[2:4]:
        assert len(captioner.caption(str(record.source), options=options)) > 0
    assert colours().asked == [record.source for record in records[2:4]]


def test_what_they_show_changes_what_is_said(manifest: Path, tmp_path: Path) -> None:
    recipe = SentencesRecipe(
        SAMPLING,
        StreamsConfig(("mean_colour",), ()),
        CaptionModelOptions(hidden=8, embedding=8, dropout=0.0),
        ViewOptions(words=20, k=4),
        SentenceOptions(min_count=1, batch=16),
        TrainingOptions(epochs=1, learning_rate=1e-2),
        AboutOptions(),
    )
    fit = SentencesFit(manifest, manifest.parent / "words", recipe, tmp_path / "sentences")
    fit.read_clips(tmp_path / "cache", lambda: None, lambda: None)
    fit.train(Silence())
    (tmp_path / "words").symlink_to(manifest.parent / "words")
    describer = DenseCaptioner.load(tmp_path).describer
    view = fit.library.view(fit.clips[0].id)
    other = replace(view, extracted={"mean_colour": np.flip(view.extracted["mean_colour"], 1)})
    without = replace(view, extracted={})
    found = [describer.compare(each, [[4, 5]]) for each in (view, other, without)]
    assert not np.allclose(found[0], found[1])
    assert not np.allclose(found[0], found[2])
