"""The whole way from clips to captions, with a small model of random weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.made_clips import write_folder, write_video
from tests.data.test_shots import write_scenes
from tests.pipeline.small_model import TAGS, write_model

import densevidcap
from densevidcap.data.clip import open_clip
from densevidcap.errors import ClipError, ModelError
from densevidcap.pipeline.captioner import (
    LONGEST,
    STAGES,
    AnalysisOptions,
    DenseCaptioner,
    cut,
    sample_segment,
)

FEW = AnalysisOptions(frames=3, sequences=4, draws=3)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> DenseCaptioner:
    return densevidcap.load(write_model(tmp_path_factory.mktemp("models") / "tiny"))


def test_the_same_clip_gets_the_same_captions(model: DenseCaptioner, tmp_path: Path) -> None:
    clip = write_video(tmp_path / "talk.mp4", 20)
    captions = model.caption(clip, k=3, options=FEW)
    assert captions == model.caption(clip, k=3, options=FEW)
    assert captions.source == str(clip)
    assert (captions.width, captions.height) == (64, 48)
    assert captions.duration == pytest.approx(2.0)
    assert captions.model == "tiny"
    assert len(captions) == 3


def test_stages_are_reported_in_order(model: DenseCaptioner, tmp_path: Path) -> None:
    said: list[tuple[str, float]] = []
    clip = open_clip(write_scenes(tmp_path / "film", [8, 8]), frame_rate=4)
    analysis = model.analyse(
        clip,
        AnalysisOptions(frames=2, per_shot=True, draws=1),
        lambda stage, share: said.append((stage, share)),
    )
    stages, shares = zip(*said, strict=True)
    assert stages == (*STAGES, *STAGES[1:])
    assert list(shares) == sorted(shares)
    assert 0 <= min(shares) <= max(shares) < 1
    assert len(analysis.segments) == 2


def test_each_shot_is_described_by_itself(model: DenseCaptioner, tmp_path: Path) -> None:
    clip = open_clip(write_scenes(tmp_path / "film", [12, 8, 10]), frame_rate=4)
    analysis = model.analyse(clip, AnalysisOptions(frames=2, per_shot=True, draws=2))
    spans = [(segment.start, segment.end) for segment in analysis.segments]
    assert spans == [(0, 3), (3, 5), (5, 7.5)]
    for segment in analysis.segments:
        assert ((segment.start <= segment.times) & (segment.times < segment.end)).all()
        said = {word for sentence in segment.sentences for word in sentence.split()}
        assert set(segment.words) == said & set(TAGS)


def test_a_whole_clip_keeps_the_lexicon(model: DenseCaptioner, tmp_path: Path) -> None:
    clip = open_clip(write_scenes(tmp_path / "film", [4, 4]))
    (segment,) = model.analyse(clip, FEW).segments
    assert segment.words == tuple(TAGS)
    assert segment.sentences == tuple(dict.fromkeys(segment.sentences))
    assert segment.quality.tolist() == sorted(segment.quality.tolist(), reverse=True)


def test_all_frames_that_are_asked_for_are_looked_at(model: DenseCaptioner, tmp_path: Path) -> None:
    """Not the first one alone: a clip that goes on otherwise has other words there."""
    (segment,) = model.analyse(open_clip(write_video(tmp_path / "talk.mp4", 20)), FEW).segments
    assert segment.times == pytest.approx([0.3, 1.0, 1.6], abs=0.11)
    assert segment.probabilities.shape[0] == segment.paths.shape[1] == FEW.frames
    seen = {frame.tobytes() for frame in segment.probabilities}
    assert len(seen) == FEW.frames
    (usual,) = model.analyse(open_clip(write_video(tmp_path / "long.mp4", 100))).segments
    assert len(usual.times) == AnalysisOptions().frames == 30


def test_a_single_picture_has_captions(model: DenseCaptioner, tmp_path: Path) -> None:
    captions = model.caption(write_folder(tmp_path / "one", 1), k=2, options=FEW)
    assert captions.duration == 1.0
    assert {(caption.start, caption.end) for caption in captions} == {(0.0, 1.0)}


def test_without_an_evaluator_confidence_goes_by_agreement(tmp_path: Path) -> None:
    model = densevidcap.load(write_model(tmp_path / "plain", evaluator=False))
    clip = open_clip(write_folder(tmp_path / "pictures", 3))
    (segment,) = model.analyse(clip, FEW).segments
    assert not segment.fit.any()
    assert segment.confidence.tolist() == sorted(segment.confidence.tolist(), reverse=True)


def test_long_clips_are_cut_and_long_shots_divided(tmp_path: Path) -> None:
    clip = open_clip(write_scenes(tmp_path / "slow", [20, 10]), frame_rate=0.2)
    assert cut(clip, per_shot=False) == [(0, 150)]
    spans = cut(clip)
    assert spans[0][0] == 0
    assert spans[-1][1] == 150
    assert 100 in {start for start, _ in spans}
    assert all(end - start <= LONGEST for start, end in spans)
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]


def test_a_segment_without_frames_is_passed_over(tmp_path: Path) -> None:
    clip = open_clip(write_folder(tmp_path / "pictures", 3))
    assert sample_segment(clip, (0.2, 0.8), 5, (8, 8)) is None
    frames = sample_segment(clip, (1.0, 3.0), 5, (8, 8))
    assert frames is not None
    assert frames.times.tolist() == [1.0, 2.0]


def test_a_missing_clip_is_named(model: DenseCaptioner, tmp_path: Path) -> None:
    with pytest.raises(ClipError, match="no such file"):
        model.caption(tmp_path / "none.mp4")


def test_half_a_model_is_named(tmp_path: Path) -> None:
    write_model(tmp_path / "half").joinpath("sentences", "card.json").unlink()
    with pytest.raises(ModelError, match="sentences: no card"):
        densevidcap.load(tmp_path / "half")


@pytest.mark.parametrize("wrong", [{"frames": 0}, {"beam": 0}, {"draws": -1}])
def test_impossible_options_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ModelError, match="must be at least 1"):
        AnalysisOptions(**wrong)  # type: ignore[arg-type]
