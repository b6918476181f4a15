"""Files of boxes: the forms that are read, the words that name things, and what is refused."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.data.boxes import BoxFile, read_boxes, read_cases
from densevidcap.data.coco_classes import NAMES, WORDS
from densevidcap.errors import CorpusError

EDGES = [0.25, 0.1, 0.5, 1.01]
PIXELS = [80, 24, 80, 218.4]
"""The same as left, top, width and height in a frame of 320 x 240."""
SIZE = {"width": 320, "height": 240}
VIDEOS = {
    "videos": [{"id": 7, "name": "park.mp4"}],
    "images": [{"id": "a", "file_name": "f3.png", "video_id": 7, "frame_id": 3, **SIZE}],
    "categories": [{"id": 40, "name": "Dog"}],
    "annotations": [{"image_id": "a", "category_id": 40, "bbox": PIXELS, "score": 0.8}],
}
FORMS: dict[str, Any] = {
    "ours, by COCO's number": {"park": {"3": [[18, 0.8, *EDGES]]}},
    "ours, by name": {"park": {"3": [["dog", 0.8, *EDGES]]}},
    "ours, with more": {"boxes": {"park": {"3": [[18, 0.8, *EDGES]]}}, "frame_rate": 6},
    "COCO's annotations of videos": VIDEOS,
    "COCO's results": [
        {"image_id": "park.png", "frame_id": 3, "category": "dog", "bbox": PIXELS, "score": 0.8}
        | SIZE
    ],
}


def write(folder: Path, content: Any) -> Path:
    path = folder / "boxes.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def read(folder: Path, content: Any) -> BoxFile:
    return read_boxes(write(folder, content))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(tmp_path: Path, form: str) -> None:
    found = read(tmp_path, FORMS[form])
    assert found.find_things("park", 3, "dog", 0.8) == pytest.approx(np.array([EDGES]))
    assert len(found.find_things("park", 3, "dog", 0.81)) == 0
    assert len(found.find_things("park", 2, "dog", 0.1)) == 0
    assert found.frame_rate == (6 if "more" in form else None)
    # Whoever finds dogs by COCO's name looked for all of COCO's.
    assert found.words == WORDS


def test_scores_are_optional_and_a_picture_is_a_clip_of_one_frame(tmp_path: Path) -> None:
    rows = [{"image_id": 1, "category_id": 18, "bbox": PIXELS}]
    # No box: a line has no area.
    rows.append({"image_id": 1, "category_id": 18, "bbox": [80, 24, 0, 10]})
    images = [{"id": 1, "file_name": "photos/rex.jpg", **SIZE}]
    images.append({"id": 2, "file_name": "photos/empty.jpg", **SIZE})
    found = read(tmp_path, {"images": images, "annotations": rows})
    assert found.find_things("rex", 0, "dog", 1.0) == pytest.approx(np.array([EDGES]))
    assert found.clips["empty"] == {0: []}
    assert len(read(tmp_path, {"a": {"0": [["dog", *EDGES]]}}).find_things("a", 0, "dog", 1.0)) == 1


def test_a_zipped_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "boxes.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"a": {"0": [["dog", *EDGES]]}}).encode()))
    assert list(read_boxes(path).clips) == ["a"]


def test_words_name_classes(tmp_path: Path) -> None:
    rows = [[name, *EDGES] for name in ("person", "dog", "hot dog", "bicycle", "motorcycle", "orc")]
    found = read(tmp_path, {"a": {"0": rows}})
    assert found.find_classes("Two women, and a PUPPY!") == ["person", "dog"]
    assert found.find_classes("a hot dog for the orcs") == ["hot dog", "orc"]
    # Of two classes the first is meant, but either may be asked for it.
    assert found.find_classes("a bike") == ["bicycle"]
    assert found.find_words("motorcycle", ["a bike", "a fast motorcycle"]) == ("motorcycle", "bike")
    assert found.find_classes("a manly dogma") == []


def test_words_of_the_file_come_first(tmp_path: Path) -> None:
    own = {"18": ["Hound"], "cat": ["hound", "tom cat"]}
    content = {"boxes": {"a": {"0": [[18, *EDGES], ["orc", *EDGES]]}}, "words": own}
    found = read(tmp_path, content)
    assert found.words == {"dog": ("hound",), "cat": ("hound", "tom cat"), "orc": ("orc", "orcs")}
    assert found.find_classes("a hound, a dog and a tom cat") == ["dog", "cat"]
    assert read(tmp_path, content | {"words": {"dog": []}}).find_classes("a dog") == []


def test_cocos_classes_are_all_there() -> None:
    assert len(NAMES) == len(WORDS) == 80
    assert {"man", "men", "ladies", "children"} <= {*WORDS["person"]}
    assert {"buses", "knives", "puppies", "couches", "toys"} <= {
        word for words in WORDS.values() for word in words
    }


def test_cases_are_sure_named_and_not_everywhere(tmp_path: Path) -> None:
    things = [["dog", 0.9, 0, 0, 0.5, 0.5], ["dog", 0.3, 0.5, 0.5, 1, 1], ["dog", 0.2, 0, 0, 1, 1]]
    found = read(
        tmp_path,
        {
            "a": {
                "0": things,
                "1": [["dog", 0.49, 0, 0, 0.5, 0.5]],  # not sure
                "2": [["dog", 0.9, 0, 0, 0.7, 0.9]],  # everywhere
                "3": [["cat", 0.9, 0, 0, 0.5, 0.5]],  # not named
            },
            "b": {"0": things},  # without captions
        },
    )
    (case,) = found.make_cases({"a": ["a dog and its puppy"], "c": ["a dog"]})
    assert (case.clip, case.frame, case.name, case.words) == ("a", 0, "dog", ("dog", "puppy"))
    assert case.things.tolist() == [[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]]


ROW = {"clip": "a", "frame": 1, "class": 18, "words": ["dog"], "boxes": [EDGES], "area": 0.2}


def test_pinned_cases_are_read(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(ROW) + "\n\n")
    (case,) = read_cases(path)
    assert (case.clip, case.frame, case.name, case.words) == ("a", 1, "dog", ("dog",))
    assert case.things.tolist() == [EDGES]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"boxes": []}, "at least one of each"),
        ({"words": [3]}, "at least one of each"),
        ({"words": "dog"}, "'words' must be a list"),
        ({"frame": -1}, "a frame must be a whole number"),
        ({"class": 12}, "no class is called 12"),
        ({"clip": None}, "'clip' must be text"),
        ({"boxes": [[0, 0, 1, float("nan")]]}, "must be a finite number"),
        ({"boxes": [EDGES] * 1001}, "over 1,000 boxes"),
    ],
)
def test_a_bad_case_is_named_by_its_line(tmp_path: Path, change: Any, said: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + json.dumps(ROW | change) + "\n")
    with pytest.raises(CorpusError) as caught:
        read_cases(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def with_row(*row: Any) -> Any:
    return {"park": {"3": [[*row]]}}


def with_annotation(**change: Any) -> Any:
    return VIDEOS | {"annotations": [VIDEOS["annotations"][0] | change]}


def with_image(**change: Any) -> Any:
    return VIDEOS | {"images": [VIDEOS["images"][0] | change]}


FAULTS: dict[str, tuple[Any, str]] = {
    "no JSON": ("{", "not JSON"),
    "nested": ("[" * 100_000, "nested too deep"),
    "NaN": ('{"a": {"0": [["dog", 0, 0, 1, NaN]]}}', "NaN is no number"),
    "infinite": ('{"a": {"0": [["dog", 0, 0, 1, 1e999]]}}', "must be a finite number"),
    "huge": (with_row("dog", 0, 0, 1, 10**400), "must be a finite number"),
    "text": ('"boxes"', "neither an object nor a list"),
    "nothing": ({}, "no boxes in it"),
    "no boxes": ({"park": {"3": []}}, "no boxes in it"),
    "no frames": ({"park": [[18, *EDGES]]}, "clip 'park' must be an object of frames"),
    "no rows": ({"park": {"3": 4}}, "clip 'park', frame 3: its boxes must be a list"),
    "a frame's name": ({"park": {"first": []}}, "frame first: a frame must be a whole number"),
    "an endless frame": ({"park": {"1" * 5000: []}}, "a frame must be a whole number"),
    "too short": (with_row("dog", 0, 0, 1), "frame 3: a box is [class, score, left,"),
    "a class of no kind": (with_row(None, *EDGES), "no class is called None"),
    "an unknown number": (with_row(12, *EDGES), "no class is called 12"),
    "a truth": (with_row(True, *EDGES), "no class is called True"),
    "a score of text": (with_row(18, "1", *EDGES), "a score must be a number, not '1'"),
    "an edge of text": (with_row(18, 1, 0, 0, "1", 1), "an edge must be a number"),
    "turned": (with_row(18, 0.6, 0, 0.5, 1), "left must be before its right"),
    "pixels": (with_row(18, 0, 0, 320, 240), "are these pixels?"),
    "too many": ({"park": {"3": [[18, *EDGES]] * 1001}}, "frame 3: over 1,000 boxes"),
    "a rate of 0": ({"boxes": with_row(18, *EDGES), "frame_rate": 0}, "must be above 0"),
    "words of no kind": ({"boxes": with_row(18, *EDGES), "words": ["a"]}, "'words' must be lists"),
    "words of a number": ({"boxes": with_row(18, *EDGES), "words": {"dog": 1}}, "'words' must be"),
    "only words": ({"words": {}}, "'boxes' must be an object"),
    "another image": (with_annotation(image_id=5), "annotation 1: its image is not among"),
    "another category": (with_annotation(category_id=18), "no class is called 18"),
    "a bbox of two": (with_annotation(bbox=[1, 2]), "'bbox' must be [left, top, width, height]"),
    "a bbox below 0": (with_annotation(bbox=[1, 2, -1, 2]), "left must be before its right"),
    "no size": (with_image(width=None), "'width' must be a number, not None"),
    "size 0": (with_image(height=0), "must be above 0"),
    "another video": (with_image(video_id=1), "image 'a': its video is not among"),
    "no place": (with_image(frame_id=None), "image 'a': a frame must be a whole number"),
    "a frame twice": (
        VIDEOS | {"images": [*VIDEOS["images"], VIDEOS["images"][0] | {"id": "b"}]},
        "two images are the same frame",
    ),
    "images of no kind": (VIDEOS | {"images": [3]}, "'images' must be a list of objects"),
    "results of no kind": ([3], "row 1: it must be an object"),
    "results without a size": (
        [{"image_id": 1, "category": "dog", "bbox": PIXELS}],
        "row 1: pixels need the image's 'width' and 'height'",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_one_line(tmp_path: Path, fault: str) -> None:
    content, said = FAULTS[fault]
    path = write(tmp_path, content)
    with pytest.raises(CorpusError) as caught:
        read_boxes(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400 + len(str(path))


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
keys = st.sampled_from(["boxes", "words", "images", "annotations", "id", "bbox", "0", "1", "x"])
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(keys, inner, max_size=4)
)


@given(content=anything)
def test_whatever_stands_in_a_file_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: Any
) -> None:
    path = write(tmp_path_factory.getbasetemp(), content)
    for reader in (read_boxes, read_cases):
        with suppress(CorpusError):
            reader(path)
