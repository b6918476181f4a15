"""Analyses kept in files: the same after reading, and faults named."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from tests.pipeline.small_model import make_analysis, make_segment

from densevidcap.config import ModelConfig
from densevidcap.errors import CorpusError
from densevidcap.pipeline.analysis import (
    ARRAYS,
    CLOSE_ARRAYS,
    FILE,
    SOURCE_FRAMES,
    Analysis,
    AnalysisFile,
)
from densevidcap.pipeline.captions import choose_captions


def test_an_analysis_may_be_without_the_places_of_its_frames(tmp_path: Path) -> None:
    """As those are that a studio kept before they were known."""
    analysis = make_analysis(replace(make_segment(), source_frames=None))
    analysis.save(tmp_path)
    read = Analysis.load(tmp_path)
    assert read.segments[0].source_frames is None
    assert all(caption.sequence.source_frames is None for caption in choose_captions(read))


@settings(max_examples=20)
@given(
    seed=st.integers(0, 1000),
    shots=st.integers(1, 3),
    frames=st.integers(1, 5),
    close=st.booleans(),
)
def test_nothing_changes_on_the_way(
    tmp_path_factory: pytest.TempPathFactory, seed: int, shots: int, frames: int, close: bool
) -> None:
    segments = [
        make_segment(seed + n, frames, start=float(frames * n), close=close) for n in range(shots)
    ]
    settings = {"decoding.samples": 3, "regions.terms": {"informativeness": 1.0}}
    config = ModelConfig().override(settings)
    analysis = replace(make_analysis(*segments), config=config, settings=settings)
    folder = tmp_path_factory.mktemp("kept")
    analysis.save(folder)
    read = Analysis.load(folder)
    assert replace(read, segments=()) == replace(analysis, segments=())
    for one, other in zip(read.segments, segments, strict=True):
        found, given_one = one.candidates, other.candidates
        assert found.sentences == given_one.sentences
        for name in found.list_arrays():
            expected = getattr(given_one, name)
            np.testing.assert_array_equal(getattr(found, name), expected, strict=True)
        for field in fields(one):
            if field.name in (*ARRAYS, SOURCE_FRAMES):
                kept, expected = getattr(one, field.name), getattr(other, field.name)
                np.testing.assert_array_equal(kept, expected, strict=True)
            elif field.name not in ("candidates", "close_up"):
                assert getattr(one, field.name) == getattr(other, field.name)
        assert (one.close_up is not None) == (other.close_up is not None) == close
        if one.close_up is not None and other.close_up is not None:
            assert one.close_up.grid == other.close_up.grid
            assert one.close_up.words == other.close_up.words
            for name in CLOSE_ARRAYS:
                kept, expected = getattr(one.close_up, name), getattr(other.close_up, name)
                np.testing.assert_array_equal(kept, expected, strict=True)
    assert choose_captions(read) == choose_captions(analysis)


def test_names_of_any_bytes_are_kept(tmp_path: Path) -> None:
    analysis = replace(make_analysis(make_segment()), source="caf\udce9 ☕.mp4")
    analysis.save(tmp_path)
    assert Analysis.load(tmp_path).source == analysis.source


def test_a_missing_analysis_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such file; analyse the clip first"):
        Analysis.load(tmp_path)


@pytest.mark.parametrize("size", [0, 5, 100, -10])
def test_a_cut_file_is_refused(tmp_path: Path, size: int) -> None:
    make_analysis(make_segment()).save(tmp_path)
    content = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(content[:size])
    with pytest.raises(CorpusError, match="no sound analysis"):
        Analysis.load(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 1},
        {"version": 99},
        {"config": {"decoding": {"beam": 0}}},
        {"segments": [{"start": 0}]},
        {"source": None, "surplus": 1},
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    analysis = make_analysis(make_segment())
    analysis.save(tmp_path)
    content = {"version": 2, "config": {}, "segments": [], **change}
    header = {"analysis": json.dumps(content)}
    save_file(load_file(tmp_path / FILE), tmp_path / FILE, header)
    with pytest.raises(CorpusError, match="do it again"):
        Analysis.load(tmp_path)


def test_arrays_that_do_not_fit_are_refused() -> None:
    segment = make_segment()
    with pytest.raises(ValueError, match="likelihoods"):
        replace(segment.candidates, likelihoods=segment.candidates.likelihoods[:-1])
    one = segment.candidates.likelihoods[:, :1]
    fewer = replace(segment.candidates, likelihoods=one, affinities=one)
    with pytest.raises(ValueError, match="likelihoods must be of 3 region-sequences"):
        replace(segment, candidates=fewer)
    with pytest.raises(ValueError, match="regions"):
        replace(segment, paths=segment.paths + 100)


def test_of_a_large_file_no_segment_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments = [make_segment(n, 2, start=2.0 * n) for n in range(6)]
    analysis = make_analysis(*segments)
    analysis.save(tmp_path)
    held = Analysis.load(tmp_path)
    assert isinstance(held.segments, tuple)
    monkeypatch.setattr("densevidcap.pipeline.analysis.HELD", 0)
    read = Analysis.load(tmp_path)
    assert len(read.segments) == 6
    assert read.segments[2] is not read.segments[2]
    assert choose_captions(read) == choose_captions(held)
    for time in (-1.0, 0.0, 3.9, 4.0, 11.0, 99.0):
        assert read.find_segment(time).start == held.find_segment(time).start
    assert [each.start for each in read.segments[1:3]] == [2.0, 4.0]
    assert read.segments[-1].start == 10.0
    with pytest.raises(IndexError):
        read.segments[6]
    # Who has it open is not troubled by another that takes its place.
    make_analysis(segments[5]).save(tmp_path)
    assert [each.start for each in read.segments] == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]


def test_a_large_file_that_lacks_something_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("densevidcap.pipeline.analysis.HELD", 0)
    make_analysis(make_segment()).save(tmp_path)
    with safe_open(tmp_path / FILE, "np") as file:
        header = file.metadata()
    arrays = load_file(tmp_path / FILE)
    del arrays["0.paths"]
    save_file(arrays, tmp_path / FILE, header)
    with pytest.raises(CorpusError, match="do it again"):
        Analysis.load(tmp_path)


def test_an_analysis_that_was_not_finished_leaves_what_was_there(tmp_path: Path) -> None:
    make_analysis(make_segment(1)).save(tmp_path)
    before = (tmp_path / FILE).read_bytes()
    with AnalysisFile(tmp_path) as file:
        file.add(make_segment(2))
    assert (tmp_path / FILE).read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [FILE]
