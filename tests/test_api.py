"""The package from Python, as in a notebook, with a small model of random weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.data.made_clips import write_video
from tests.pipeline.small_model import write_model

import densevidcap
from densevidcap.api import Model, Result
from densevidcap.data.clip import open_clip
from densevidcap.errors import ClipError, OutputError
from densevidcap.export import read_captions
from densevidcap.export.sets import DEFAULT_COLUMNS

FEW = {"frames.most": 3, "regions.k": 4, "decoding.samples": 3}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return densevidcap.load(write_model(tmp_path_factory.mktemp("models") / "tiny"))


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_video(tmp_path_factory.mktemp("clips") / "a <b>.mp4", 20)


@pytest.fixture(scope="module")
def result(model: Model, clip: Path) -> Result:
    return model.caption(clip, k=3, settings=FEW)


def test_frames_in_memory_are_said_as_those_in_a_file(model: Model, clip: Path) -> None:
    frames = np.stack([image for _, image in open_clip(clip).stream()])
    held = model.caption(frames, frame_rate=10, k=3, settings=FEW)
    filed = model.caption(open_clip(clip), k=3, settings=FEW)
    assert [each.text for each in held] == [each.text for each in filed]
    assert [each.boxes for each in held] == [each.boxes for each in filed]
    assert held.duration == pytest.approx(filed.duration)
    assert (held.width, held.height) == (64, 48)
    assert held.draw().size == filed.draw().size


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (np.zeros((4, 8, 8), np.uint8), r"\(4, 8, 8\) is no clip; give frames \(N, H, W, 3\)"),
        (np.zeros((0, 8, 8, 3), np.uint8), "is no clip"),
        (np.zeros((4, 8, 8, 3), np.float32), "frames of float32; give numbers from 0 to 255"),
    ],
)
def test_arrays_that_are_no_clip_say_what_is(
    model: Model, frames: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], message: str
) -> None:
    with pytest.raises(ClipError, match=message):
        model.caption(frames)


def test_what_is_no_clip_at_all_is_told_in_a_sentence(model: Model, clip: Path) -> None:
    with pytest.raises(TypeError, match="no clip is a int; give a path, or frames as an array"):
        model.caption(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"no clip is a list; .*use model\.caption_many"):
        model.caption([clip])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="several clips are wanted"):
        next(model.caption_many(clip))  # type: ignore[arg-type]


def test_many_clips_come_one_by_one(model: Model, clip: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.mp4"
    damaged.write_bytes(b"no video")
    results = model.caption_many([clip, damaged, clip], k=1, settings=FEW)
    assert next(results).source == str(clip)
    with pytest.raises(ClipError, match=r"damaged\.mp4"):
        next(results)
    with pytest.warns(UserWarning, match=r"damaged\.mp4"):
        skipped = [*model.caption_many([clip, damaged, clip], skip=True, k=1, settings=FEW)]
    assert [each.source for each in skipped] == [str(clip)] * 2


def test_a_result_is_short_in_a_list_and_whole_as_a_page(result: Result, clip: Path) -> None:
    first = result[0]
    assert repr(result) == f"<{clip}: {first.text!r} ({first.verdict}) and 2 more>"
    page = result._repr_html_()
    assert "a &lt;b&gt;.mp4" in page
    assert "<b>.mp4" not in page
    assert all(caption.text in page for caption in result)
    assert page.count("<li>") == 3
    assert page.count("data:image/jpeg;base64,") == 1


def test_a_result_outlives_its_clip(model: Model, tmp_path: Path) -> None:
    clip = write_video(tmp_path / "gone.mp4", 10)
    said = model.caption(clip, k=2, settings=FEW)
    clip.unlink()
    page = said._repr_html_()
    assert "<img" not in page
    assert page.count("<li>") == 2


def test_boxes_are_drawn_into_what_is_shown(result: Result, clip: Path) -> None:
    plain = Result(**{**vars(result), "captions": ()})
    assert repr(plain) == f"<nothing said of {clip}>"
    assert "Nothing is said" in plain._repr_html_()
    drawn, empty = (np.asarray(each.draw(), int) for each in (result, plain))
    assert drawn.shape == empty.shape
    changed = (abs(drawn - empty).max(axis=2) > 60).mean()
    assert 0.01 < changed < 0.9


def test_dicts_tables_and_files_have_every_sentence(result: Result, tmp_path: Path) -> None:
    table = result.to_pandas()
    assert [*table.columns] == DEFAULT_COLUMNS.split(",")
    assert [*table["text"]] == [caption.text for caption in result]
    assert [*table["rank"]] == [1, 2, 3]
    assert table["confidence"].tolist() == pytest.approx(
        [caption.confidence for caption in result], abs=1e-4
    )
    asked = result.to_pandas("text=said,verdict")
    assert asked.to_dict("list") == {
        "said": [caption.text for caption in result],
        "verdict": [caption.verdict for caption in result],
    }
    nothing = Result(**{**vars(result), "captions": ()}).to_pandas()
    assert [*nothing.columns] == [*table.columns]
    path = tmp_path / "said.json"
    result.save(path)
    assert json.loads(path.read_text()) == json.loads(json.dumps(result.to_dict()))
    assert read_captions(path).captions == result.captions
    with pytest.raises(OutputError, match="said"):
        result.save(str(path))
    result.save(tmp_path / "said.html")
    assert (tmp_path / "said.html").stat().st_size > 1000
