"""Every format that has boxes has those that were fitted, whatever their shapes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import av
import numpy as np
import numpy.typing as npt
import pytest
from tests.data.made_clips import write_video
from tests.export.made_captions import FITTED, make_captions

from densevidcap.data.clip import open_clip
from densevidcap.export import ENDINGS, save
from densevidcap.types import Caption

Edges = npt.NDArray[np.float64]
"""(4,): left, top, right and bottom in fractions of the frame."""
Tracks = dict[int, dict[int, Edges]]
"""Rank, from 0 on, to frame of the clip to box."""

SIZE = np.array([64, 48, 64, 48])
NAMES = ("left", "top", "right", "bottom")


def read_json(path: Path) -> Tracks:
    captions = json.loads(path.read_text())["captions"]
    return {
        rank: {_frame(b["time"]): np.array([b[name] for name in NAMES]) for b in caption["boxes"]}
        for rank, caption in enumerate(captions)
    }


def read_html(path: Path) -> Tracks:
    found = re.search(r'<script[^>]*id="tracks"[^>]*>(.*?)</script>', path.read_text(), re.DOTALL)
    assert found is not None
    tracks: list[dict[str, Any]] = json.loads(found[1])
    return {
        rank: {
            _frame(t): np.array(box) for t, box in zip(each["times"], each["boxes"], strict=True)
        }
        for rank, each in enumerate(tracks)
    }


def read_coco(path: Path) -> Tracks:
    content = json.loads(path.read_text())
    frames = {image["id"]: image["frame_id"] for image in content["images"]}
    tracks: Tracks = {}
    for each in content["annotations"]:
        x, y, width, height = each["bbox"]
        assert each["area"] == pytest.approx(width * height)
        box = np.array([x, y, x + width, y + height]) / SIZE
        tracks.setdefault(each["track_id"] - 1, {})[frames[each["image_id"]]] = box
    return tracks


def read_cvat(path: Path) -> Tracks:
    return {
        rank: {
            int(box.get("frame", "")): np.array(
                [float(box.get(name, "")) for name in ("xtl", "ytl", "xbr", "ybr")]
            )
            / SIZE
            for box in track
        }
        for rank, track in enumerate(ET.parse(path).getroot().findall("track"))
    }


def read_fiftyone(path: Path) -> Tracks:
    tracks: Tracks = {}
    for number, frame in json.loads(path.read_text())["frames"].items():
        for each in frame["objects"]["objects"]:
            near, far = (each["bounding_box"][name] for name in ("top_left", "bottom_right"))
            box = np.array([near["x"], near["y"], far["x"], far["y"]])
            tracks.setdefault(each["index"] - 1, {})[int(number) - 1] = box
    return tracks


READERS: dict[str, Callable[[Path], Tracks]] = {
    "json": read_json,
    "html": read_html,
    "coco": read_coco,
    "cvat": read_cvat,
    "fiftyone": read_fiftyone,
}


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 frames, ten a second."""
    return write_video(tmp_path_factory.mktemp("clips") / "talk.mp4")


def test_no_format_is_forgotten() -> None:
    """A new one is read above, or stands here among those that have no boxes, or the film."""
    chapters = {"chapters", "chapters-srt", "chapters-txt"}
    assert READERS.keys() | {"vtt", "srt", "mp4"} | chapters == ENDINGS.keys()


@pytest.mark.parametrize("kind", READERS)
def test_a_file_has_the_fitted_boxes(clip: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"talk{ENDINGS[kind]}"
    save(make_captions(clip, *FITTED), path)
    tracks = READERS[kind](path)
    assert tracks.keys() == {0, 1}
    for rank, caption in enumerate(FITTED):
        assert tracks[rank].keys() >= {_frame(time) for time in caption.sequence.times}
        for frame, box in tracks[rank].items():
            # CVAT has hundredths of a pixel.
            np.testing.assert_allclose(box, _expect(caption, frame / 10), atol=2e-4)


@pytest.mark.parametrize("caption", FITTED, ids=lambda caption: caption.text)
def test_the_film_shows_the_fitted_boxes(clip: Path, tmp_path: Path, caption: Caption) -> None:
    save(make_captions(clip, caption), tmp_path / "film.mp4")
    plain = open_clip(clip).stream((480, 360))
    with av.open(str(tmp_path / "film.mp4")) as film:
        pairs = zip(film.decode(video=0), plain, strict=True)
        for number, (frame, (time, before)) in enumerate(pairs):
            if number % 5:
                continue
            after = frame.to_ndarray(format="rgb24")[:360]
            drawn = (abs(after.astype(int) - before).max(axis=2) > 70).nonzero()
            rows, columns = drawn
            found = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
            expected = _expect(caption, time) * [480, 360, 480, 360]
            assert np.abs(found - expected).max() < 5, time


def _frame(time: float) -> int:
    return round(10 * time)


def _expect(caption: Caption, time: float) -> Edges:
    times = caption.sequence.times
    return np.array(
        [np.interp(time, times, [getattr(b, name) for b in caption.boxes]) for name in NAMES]
    )
