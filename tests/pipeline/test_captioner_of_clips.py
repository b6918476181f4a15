"""The whole way from clips to captions, with a small model of random weights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.data.made_clips import write_folder, write_shard, write_video
from tests.data.test_shots import write_scenes
from tests.pipeline.small_model import TAGS, write_model

import densevidcap
from densevidcap.config import FramesConfig, ModelConfig
from densevidcap.data.clip import open_clip
from densevidcap.data.shots import cut, sample_segment
from densevidcap.errors import ClipError, ModelError
from densevidcap.export import save
from densevidcap.model_folder import BUNDLED, read_model_config, write_model_card
from densevidcap.pipeline.captioner import STEPS, DenseCaptioner, halve
from densevidcap.pipeline.captions import choose_captions
from densevidcap.types import FloatArray

FEW = {"frames.most": 3, "regions.k": 4, "decoding.samples": 3}
SHOTS = {"frames.most": 2, "frames.per_shot": "always", "decoding.samples": 2}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> DenseCaptioner:
    return densevidcap.load(write_model(tmp_path_factory.mktemp("models") / "tiny"))


def test_the_same_clip_gets_the_same_captions(model: DenseCaptioner, tmp_path: Path) -> None:
    clip = write_video(tmp_path / "talk.mp4", 20)
    captions = model.caption(clip, k=3, settings=FEW)
    assert captions == model.caption(clip, k=3, settings=FEW)
    assert captions.source == str(clip)
    assert (captions.width, captions.height) == (64, 48)
    assert captions.duration == pytest.approx(2.0)
    assert captions.model == "tiny"
    assert len(captions) == 3


@given(arrays(np.float32, st.integers(1, 70), elements=st.floats(-9, 9, width=32)))
def test_half_of_the_bits_are_those_of_numpy(numbers: FloatArray) -> None:
    """Whether or not the number is just between two that 16 bits have."""
    between = (numbers.astype(np.float16).astype(np.float32) + np.float32(2**-12)).reshape(-1, 1)
    for each in (numbers, between):
        np.testing.assert_array_equal(halve(each), each.astype(np.float16))


def test_fitting_changes_boxes_and_nothing_else(model: DenseCaptioner, tmp_path: Path) -> None:
    clip = write_video(tmp_path / "talk.mp4", 20)
    fitted = model.caption(clip, k=3, settings=FEW)
    plain = model.caption(clip, k=3, settings=FEW | {"boxes.fit": "grid"})
    assert any(one.boxes != other.boxes for one, other in zip(fitted, plain, strict=True))
    for one, other in zip(fitted, plain, strict=True):
        assert other.sequence.fitted is None
        assert replace(one, sequence=replace(one.sequence, fitted=None)) == other


@pytest.mark.parametrize("kind", ["folder", "shard"])
@pytest.mark.parametrize("per_shot", ["never", "always"])
def test_the_place_of_a_picture_is_told_where_others_are_left_out(
    model: DenseCaptioner, tmp_path: Path, kind: str, per_shot: str
) -> None:
    """By `frame`, by its time, and by COCO's frame."""
    source = str(write_scenes(tmp_path / "film", [7, 5]))
    if kind == "shard":
        files = {f"a.{n}.png": (tmp_path / "film" / f"{n}.png").read_bytes() for n in range(12)}
        source = f"{write_shard(tmp_path / 'shard.tar', files)}::a"
    settings = {**FEW, "frames.per_shot": per_shot}
    captions = model.caption(source, k=3, settings=settings)
    looked_at = [2, 6, 10] if per_shot == "never" else [1, 3, 5, 7, 9, 11]
    save(captions, tmp_path / "film.json")
    save(captions, tmp_path / "film.coco.json")
    told = json.loads((tmp_path / "film.json").read_text())["captions"]
    seen = {(box["frame"], box["time"]) for caption in told for box in caption["boxes"]}
    assert seen == {(place, place) for place in looked_at}
    for caption in told:
        frames = [box["frame"] for box in caption["boxes"]]
        assert all(word["box"]["frame"] in frames for word in caption["evidence"])
    images = json.loads((tmp_path / "film.coco.json").read_text())["images"]
    assert [image["frame_id"] for image in images] == looked_at


def test_stages_are_reported_in_order(model: DenseCaptioner, tmp_path: Path) -> None:
    said: list[tuple[str, float]] = []
    clip = open_clip(write_scenes(tmp_path / "film", [8, 8]), frame_rate=4)
    analysis = model.analyse(
        clip,
        SHOTS,
        lambda stage, share: said.append((stage, share)),
    )
    stages, shares = zip(*said, strict=True)
    assert stages == (*STEPS, *STEPS[1:])
    assert list(shares) == sorted(shares)
    assert 0 <= min(shares) <= max(shares) < 1
    assert len(analysis.segments) == 2


def test_each_shot_is_described_by_itself(model: DenseCaptioner, tmp_path: Path) -> None:
    clip = open_clip(write_scenes(tmp_path / "film", [12, 8, 10]), frame_rate=4)
    analysis = model.analyse(clip, SHOTS)
    spans = [(segment.start, segment.end) for segment in analysis.segments]
    assert spans == [(0, 3), (3, 5), (5, 7.5)]
    for segment in analysis.segments:
        assert ((segment.start <= segment.times) & (segment.times < segment.end)).all()
        said = {word for sentence in segment.candidates.sentences for word in sentence.split()}
        assert set(segment.words) == said & set(TAGS)


def test_a_whole_clip_keeps_the_lexicon(model: DenseCaptioner, tmp_path: Path) -> None:
    clip = open_clip(write_scenes(tmp_path / "film", [4, 4]))
    (segment,) = model.analyse(clip, FEW).segments
    assert segment.words == tuple(TAGS)
    assert segment.candidates.sentences == tuple(dict.fromkeys(segment.candidates.sentences))
    assert segment.candidates.quality.tolist() == sorted(
        segment.candidates.quality.tolist(), reverse=True
    )


def test_all_frames_that_are_asked_for_are_looked_at(model: DenseCaptioner, tmp_path: Path) -> None:
    """Not the first one alone: a clip that goes on otherwise has other words there."""
    (segment,) = model.analyse(open_clip(write_video(tmp_path / "talk.mp4", 20)), FEW).segments
    assert segment.times == pytest.approx([0.3, 1.0, 1.6], abs=0.11)
    assert segment.probabilities.shape[0] == segment.paths.shape[1] == 3
    seen = {frame.tobytes() for frame in segment.probabilities}
    assert len(seen) == 3
    (usual,) = model.analyse(open_clip(write_video(tmp_path / "long.mp4", 100))).segments
    assert len(usual.times) == model.config.frames.most == FramesConfig().most == 24


def test_a_single_picture_has_captions(model: DenseCaptioner, tmp_path: Path) -> None:
    captions = model.caption(write_folder(tmp_path / "one", 1), k=2, settings=FEW)
    assert captions.duration == 1.0
    assert {(caption.start, caption.end) for caption in captions} == {(0.0, 1.0)}


def test_without_an_evaluator_confidence_goes_by_agreement(tmp_path: Path) -> None:
    model = densevidcap.load(write_model(tmp_path / "plain", evaluator=False))
    clip = open_clip(write_folder(tmp_path / "pictures", 3))
    (segment,) = model.analyse(clip, FEW).segments
    assert not segment.candidates.fit.any()
    assert segment.candidates.confidence.tolist() == sorted(
        segment.candidates.confidence.tolist(), reverse=True
    )


def test_long_clips_are_cut_and_long_shots_divided(tmp_path: Path) -> None:
    clip = open_clip(write_scenes(tmp_path / "slow", [20, 10]), frame_rate=0.2)
    assert list(cut(clip, FramesConfig(per_shot="never"))) == [(0, 150)]
    spans = list(cut(clip, FramesConfig()))
    assert spans[0][0] == 0
    assert spans[-1][1] == 150
    assert 100 in {start for start, _ in spans}
    assert all(end - start <= FramesConfig().longest for start, end in spans)
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]


def test_a_film_is_told_scene_by_scene(model: DenseCaptioner, tmp_path: Path) -> None:
    """Within its sentences a minute, each scene in a few frames, while the rest is unread.

    To weights at random all shots look alike, so these are kept apart.
    """
    rate = {"scenes.sentences": 6.0, "scenes.every": 5.0, "scenes.frames": 3, "scenes.alike": 2.0}
    film = open_clip(write_scenes(tmp_path / "film", [35] * 4), frame_rate=1)
    told: list[tuple[float, int]] = []
    steps: list[tuple[str, float]] = []
    narration = model.narrate(
        film,
        rate,
        lambda step, share: steps.append((step, share)),
        tell=lambda segment, said: told.append((segment.end, len(said))),
    )
    captions = narration.finish()
    assert captions.scenes[0][0] == 0
    assert captions.scenes[-1][1] == captions.duration == 140
    assert [end for end, _ in told] == [end for _, end in captions.scenes]
    assert all(1 <= count <= model.config.selection.k for _, count in told)
    assert sum(count for _, count in told) == len(captions) <= 1 + 6 * 140 / 60
    assert max(len(caption.boxes) for caption in captions) <= 3
    shares = [share for _, share in steps]
    assert shares == sorted(shares)
    # What is known of the first scene is told before the last shot is looked at.
    names = [step for step, _ in steps]
    assert names.index("ranking") < len(names) - 1 - names[::-1].index("words")
    assert choose_captions(model.analyse(film, rate)) == captions
    assert len(captions.scenes) == 4


def test_a_segment_without_frames_is_passed_over(tmp_path: Path) -> None:
    clip = open_clip(write_folder(tmp_path / "pictures", 3))
    assert sample_segment(clip, (0.2, 0.8), FramesConfig(5), (8, 8)) is None
    frames = sample_segment(clip, (1.0, 3.0), FramesConfig(5), (8, 8))
    assert frames is not None
    assert frames.times.tolist() == [1.0, 2.0]


def test_a_missing_clip_is_named(model: DenseCaptioner, tmp_path: Path) -> None:
    with pytest.raises(ClipError, match="no such file"):
        model.caption(tmp_path / "none.mp4")


def test_half_a_model_is_named(tmp_path: Path) -> None:
    write_model(tmp_path / "half").joinpath("sentences", "card.json").unlink()
    with pytest.raises(ModelError, match="sentences: no card"):
        densevidcap.load(tmp_path / "half")


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({"frames.most": 0}, "most must be 1 or more"),
        ({"decoding.beam": 0}, "beam must be 1 or more"),
        ({"decoding.samples": -1}, "samples must be 0 or more"),
        ({"decoding.beams": 3}, "no setting 'decoding.beams'"),
        ({"decoding.beam": "wide"}, "must be a whole number"),
        ({"captioner.hidden": 3}, "of a trained model"),
        ({"eyes.size": 32}, "of a trained model"),
    ],
)
def test_impossible_settings_are_refused(
    model: DenseCaptioner, wrong: dict[str, object], fault: str
) -> None:
    with pytest.raises(ModelError, match=fault):
        model.override(wrong)


def test_what_is_given_overrides_the_config_and_is_told(
    model: DenseCaptioner, tmp_path: Path
) -> None:
    clip = write_folder(tmp_path / "pictures", 4)
    assert model.caption(clip, k=5, settings={"decoding.seed": 0}).settings == {}
    captions = model.caption(
        clip, k=2, diversity=0.1, frames=3, beam=2, seed=1, per_shot=True, settings={"regions.k": 3}
    )
    assert captions.settings == {
        "selection.k": 2,
        "selection.diversity": 0.1,
        "frames.most": 3,
        "decoding.beam": 2,
        "decoding.seed": 1,
        "frames.per_shot": "always",
        "regions.k": 3,
    }


def test_every_setting_of_the_card_is_used(tmp_path: Path) -> None:
    """What training chose is what captioning does, without a word from the caller."""
    folder = write_model(tmp_path / "own")
    config = read_model_config(folder).override(
        {
            "frames.most": 5,
            "regions.k": 3,
            "captioner.most_frames": 2,
            "decoding.samples": 4,
            "decoding.candidates": 9,
            "selection.k": 2,
            "confidence.evidence": 0.0,
        }
    )
    write_model_card(folder, config, licence="MIT")
    model = densevidcap.load(folder)
    assert model.config == config
    lengths: list[int] = []
    model.generator.captioner.fusion.register_forward_pre_hook(
        lambda _, given: lengths.extend(given[0].lengths.tolist())
    )
    clip = open_clip(write_folder(tmp_path / "pictures", 9))
    (segment,) = model.analyse(clip).segments
    assert segment.paths.shape == (3, 5)
    assert set(lengths) == {2}
    assert 1 <= len(segment.candidates) <= 9
    captions = model.caption(clip)
    assert len(captions) == 2
    assert captions.settings == {}
    for caption in captions:
        assert not set(caption.unsupported) & set(TAGS)


def test_captions_without_samples(model: DenseCaptioner, tmp_path: Path) -> None:
    clip = write_folder(tmp_path / "pictures", 3)
    captions = model.caption(clip, beam=3, settings={"decoding.samples": 0})
    assert len(captions) >= 1
    assert captions.settings == {"decoding.beam": 3, "decoding.samples": 0}


def test_the_bundled_model_is_that_of_the_default_config() -> None:
    """Its card, and what is read from the cards of its stages as version 0.1 wrote them."""
    ours, default = read_model_config(BUNDLED), ModelConfig.read("default")
    assert {n.partition(".")[0] for n in ours.list_differences(default)} <= {"training", "about"}
