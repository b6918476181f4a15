"""Tracks for annotation tools: read back by COCO's own code, or held to their formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pycocotools.coco import COCO
from tests.data.made_clips import write_video
from tests.export.made_captions import captions, make_caption, make_captions, texts

from densevidcap.data.clip import Clip, open_clip
from densevidcap.data.text import one_line
from densevidcap.export import save
from densevidcap.export.cvat import render_cvat
from densevidcap.export.tracks import frames_of, key_boxes
from densevidcap.types import Caption

SIZE = np.array([64, 48, 64, 48])


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 frames, ten a second."""
    return write_video(tmp_path_factory.mktemp("clips") / "talk <1>.mp4")


@pytest.fixture(scope="module")
def opened(clip: Path) -> Clip:
    return open_clip(clip)


@given(captions(), st.integers(1, 60))
def test_every_caption_has_frames_and_its_boxes_lie_in_them(caption: Caption, count: int) -> None:
    times = np.arange(count) * 4 / count
    frames = frames_of(times, caption)
    assert 0 <= frames.start < frames.stop <= count
    assert set(key_boxes(times, caption)) <= set(range(count))
    for frame in frames:
        assert caption.holds_at(times[frame] + 1e-6) or len(frames) == 1


def test_coco_reads_what_we_write(clip: Path, tmp_path: Path) -> None:
    made = make_captions(clip)
    save(made, tmp_path / "talk.coco.json")
    coco = COCO(str(tmp_path / "talk.coco.json"))
    assert [image["frame_id"] for image in coco.dataset["images"]] == [5, 15, 25, 35]
    tracks = {rank: coco.loadAnns(ids) for rank, ids in _by_track(coco).items()}
    assert [len(tracks[rank]) for rank in (1, 2, 3)] == [4, 2, 1]
    for rank, caption in enumerate(made, start=1):
        for annotation, box in zip(tracks[rank], caption.boxes, strict=True):
            x, y, width, height = annotation["bbox"]
            expected = np.array([box.left, box.top, box.right, box.bottom]) * SIZE
            np.testing.assert_allclose([x, y, x + width, y + height], expected)
            assert annotation["area"] == pytest.approx(width * height)
            assert annotation["caption"] == caption.text
            assert coco.annToMask(annotation).sum() == pytest.approx(width * height, rel=0.15)
    assert coco.getCatIds(["region-sequence"]) == [1]


def _by_track(coco: COCO) -> dict[int, list[int]]:
    tracks: dict[int, list[int]] = {}
    for annotation in coco.dataset["annotations"]:
        tracks.setdefault(annotation["track_id"], []).append(annotation["id"])
    return tracks


def test_cvat_tracks_begin_move_and_end(clip: Path, tmp_path: Path) -> None:
    save(make_captions(clip), tmp_path / "talk.cvat.xml")
    root = ET.parse(tmp_path / "talk.cvat.xml").getroot()
    assert root.findtext("version") == "1.1"
    assert root.findtext("meta/task/size") == "40"
    assert root.findtext("meta/task/name") == "talk <1>.mp4"
    assert root.findtext("meta/task/original_size/width") == "64"
    declared = {
        each.findtext("name") for each in root.iter("attribute") if "name" not in each.attrib
    }
    moving, staying, single = root.findall("track")
    assert [box.get("frame") for box in moving] == ["0", "5", "15", "25", "35"]
    assert {box.get("outside") for box in moving} == {"0"}
    assert [box.get("frame") for box in staying] == ["0", "5", "35"]
    assert [(box.get("frame"), box.get("outside")) for box in single] == [
        ("20", "0"),
        ("25", "0"),
        ("30", "1"),
    ]
    for box in root.iter("box"):
        left, top, right, bottom = (
            float(box.get(edge, "")) for edge in ("xtl", "ytl", "xbr", "ybr")
        )
        assert 0 <= left < right <= 64
        assert 0 <= top < bottom <= 48
        assert {each.get("name") for each in box} == declared
    assert single.findtext("box/attribute[@name='caption']") == "a ball lies there"


@given(text=texts)
def test_cvat_holds_any_sentence(opened: Clip, text: str) -> None:
    made = make_captions("talk.mp4", make_caption(text))
    root = ET.fromstring(render_cvat(made, opened).encode())
    assert root.findtext("track/box/attribute[@name='caption']") == one_line(text)


VIDEO_LABELS = Draft202012Validator(
    {
        "$defs": {
            "share": {"type": "number", "minimum": 0, "maximum": 1},
            "point": {
                "type": "object",
                "required": ["x", "y"],
                "properties": {"x": {"$ref": "#/$defs/share"}, "y": {"$ref": "#/$defs/share"}},
            },
        },
        "type": "object",
        "required": ["filename", "events", "frames"],
        "properties": {
            "frames": {
                "patternProperties": {
                    "^[1-9][0-9]*$": {
                        "required": ["frame_number", "objects"],
                        "properties": {
                            "objects": {
                                "properties": {
                                    "objects": {
                                        "items": {
                                            "required": ["label", "bounding_box", "index"],
                                            "properties": {
                                                "bounding_box": {
                                                    "required": ["top_left", "bottom_right"],
                                                    "additionalProperties": {
                                                        "$ref": "#/$defs/point"
                                                    },
                                                }
                                            },
                                        }
                                    }
                                }
                            }
                        },
                    }
                },
                "additionalProperties": False,
            }
        },
    }
)
"""What FiftyOne needs of ETA's VideoLabels."""


def test_fiftyone_has_a_box_in_every_frame_of_a_caption(clip: Path, tmp_path: Path) -> None:
    save(make_captions(clip), tmp_path / "talk.fiftyone.json")
    content = json.loads((tmp_path / "talk.fiftyone.json").read_text())
    VIDEO_LABELS.validate(content)
    supports = [event["support"]["ranges"] for event in content["events"]["events"]]
    assert supports == [[[1, 40]], [[1, 40]], [[21, 30]]]
    assert [int(number) for number in content["frames"]] == list(range(1, 41))
    assert [_indices(content, frame) for frame in (1, 20, 21, 30, 31)] == [
        [1, 2],
        [1, 2],
        [1, 2, 3],
        [1, 2, 3],
        [1, 2],
    ]
    lefts = [_objects(content, frame)[0]["bounding_box"]["top_left"]["x"] for frame in range(1, 41)]
    assert lefts == sorted(lefts)
    # Halfway between two frames that were looked at, a box is halfway between their regions.
    assert lefts[10] == pytest.approx((lefts[5] + lefts[15]) / 2)


def _objects(content: dict[str, Any], frame: int) -> list[dict[str, Any]]:
    objects: list[dict[str, Any]] = content["frames"][str(frame)]["objects"]["objects"]
    return objects


def _indices(content: dict[str, Any], frame: int) -> list[int]:
    return [each["index"] for each in _objects(content, frame)]
