"""JSON: what the schema promises, and the way back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from tests.export.made_captions import (
    FITTED,
    GRID,
    SOME,
    dense_captions,
    films,
    forget_frames,
    make_caption,
    make_captions,
    texts,
)

from densevidcap.errors import CorpusError
from densevidcap.export import SCHEMA, read_captions, save
from densevidcap.export.json_file import from_dict, render_json
from densevidcap.export.report import render_page
from densevidcap.export.subtitles import render_vtt
from densevidcap.types import DenseCaptions

VALIDATOR = Draft202012Validator(json.loads(SCHEMA.read_text()))


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(VALIDATOR.schema)


@given(dense_captions | films)
def test_files_keep_to_the_schema_and_come_back_the_same(made: DenseCaptions) -> None:
    written = json.loads(render_json(made))
    VALIDATOR.validate(written)
    assert from_dict(written) == made


@given(dense_captions)
def test_boxes_come_back_as_they_were_fitted(made: DenseCaptions) -> None:
    for caption, read in zip(made, from_dict(json.loads(render_json(made))), strict=True):
        assert read.boxes == caption.boxes
        is_plain = caption.boxes == caption.sequence.grid_boxes
        assert (read.sequence.fitted is None) == is_plain


@given(dense_captions)
def test_a_file_of_version_1_has_the_boxes_of_its_regions(made: DenseCaptions) -> None:
    for caption, read in zip(made, from_dict(make_old(made, 1)), strict=True):
        old = forget_frames(caption)
        assert read == replace(old, sequence=replace(old.sequence, fitted=None))


@given(dense_captions)
def test_a_file_of_version_2_does_not_know_the_frames_of_the_source(made: DenseCaptions) -> None:
    """It counted those that were looked at; nobody may take that for a place in the source."""
    read = from_dict(make_old(made, 2))
    assert read == replace(made, captions=tuple(map(forget_frames, made)))
    again = json.loads(render_json(read))
    VALIDATOR.validate(again)
    assert not any("frame" in box for caption in again["captions"] for box in caption["boxes"])
    assert from_dict(again) == read


def make_old(made: DenseCaptions, version: int) -> dict[str, Any]:
    """As an earlier version wrote it."""
    content = json.loads(render_json(made)) | {"version": version}
    for caption in content["captions"]:
        for number, box in enumerate(caption["boxes"]):
            box["frame"] = number
        for word in caption["evidence"]:
            word["box"]["frame"] = 0
    return dict(content)


@pytest.mark.parametrize("frame", [-1, 0.5, "3", None, True])
def test_what_is_no_place_in_the_source_is_refused(frame: object) -> None:
    for place in ("boxes", "evidence"):
        content = json.loads(render_json(make_captions("clip.mp4")))
        box = content["captions"][0][place][0]
        (box if place == "boxes" else box["box"])["frame"] = frame
        with pytest.raises((TypeError, ValueError)):
            from_dict(content)


def test_a_place_in_the_source_is_known_of_all_boxes_or_of_none() -> None:
    content = json.loads(render_json(make_captions("clip.mp4")))
    del content["captions"][0]["boxes"][1]["frame"]
    with pytest.raises(ValueError, match="a source frame for each of its frames"):
        from_dict(content)


def test_a_box_that_somebody_rounded_is_read_as_it_stands_there(tmp_path: Path) -> None:
    content = json.loads(render_json(make_captions("clip.mp4")))
    content["captions"][0]["boxes"][1] |= {"left": 0.17, "top": 0.25, "right": 0.5, "bottom": 0.75}
    (tmp_path / "clip.json").write_text(json.dumps(content))
    first, *others = read_captions(tmp_path / "clip.json")
    assert [box.left for box in first.boxes] == [GRID.box(5).left, 0.17, 2 / 6, 3 / 6]
    assert others == list(SOME[1:])


def test_settings_are_written_where_there_are_any() -> None:
    made = make_captions("clip.mp4")
    assert "settings" not in json.loads(render_json(made))
    changed = replace(made, settings={"decoding.beam": 3, "regions.terms": {"coherence": 1.0}})
    written = json.loads(render_json(changed))
    VALIDATOR.validate(written)
    assert from_dict(written) == changed


@given(texts)
def test_any_name_of_a_source_comes_back(name: str) -> None:
    assert from_dict(json.loads(render_json(make_captions(name)))).source == name


def test_a_file_comes_back(tmp_path: Path) -> None:
    made = make_captions("clip.mp4")
    save(made, tmp_path / "new" / "clip.json")
    assert read_captions(tmp_path / "new" / "clip.json") == made


@pytest.mark.parametrize(
    "content",
    [
        *("[]", "{}", '"text"', "{", '{"version": 1}', '{"version": 2}', '{"version": 0}'),
        *('{"version": true}', '{"version": "2"}', '{"version": 1.0}', '{"version": null}'),
        '{"version": 1, "source": 1, "duration": 2}',
    ],
)
def test_other_files_are_refused_by_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(CorpusError, match=r"other\.json"):
        read_captions(path)


def test_impossible_captions_are_refused(tmp_path: Path) -> None:
    content = json.loads(render_json(make_captions("clip.mp4")))
    for key, value in [("end", -1.0), ("confidence", 2), ("boxes", []), ("text", " ")]:
        broken = {**content, "captions": [{**content["captions"][0], key: value}]}
        path = tmp_path / f"{key}.json"
        path.write_text(json.dumps(broken))
        with pytest.raises(CorpusError, match=f"{key}.json"):
            read_captions(path)


@pytest.mark.parametrize(
    "change",
    [
        {"left": float("nan")},
        {"right": float("inf")},
        {"left": -0.01},
        {"bottom": 1.01},
        {"left": 0.5, "right": 0.5},
        {"top": 0.8, "bottom": 0.2},
        {"left": "0.1"},
        {"top": None},
        {"right": True},
        {"bottom": 10**400},
    ],
    ids=repr,
)
@pytest.mark.parametrize("place", ["boxes", "evidence"])
def test_what_is_no_box_is_refused_in_one_line(
    tmp_path: Path, place: str, change: dict[str, object]
) -> None:
    content = json.loads(render_json(make_captions("clip.mp4", *FITTED)))
    caption = content["captions"][0]
    box = caption["boxes"][1] if place == "boxes" else caption["evidence"][0]["box"]
    box |= change
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(content))
    with pytest.raises(CorpusError, match=r"hostile\.json: not captions") as refusal:
        read_captions(path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("region", [-1, len(GRID)])
def test_a_fitted_box_has_a_region_of_the_grid(region: int) -> None:
    content = json.loads(render_json(make_captions("clip.mp4", *FITTED)))
    content["captions"][0]["boxes"][1]["region"] = region
    for version in (1, 2, 3):
        with pytest.raises(IndexError, match=f"region {region} of 15"):
            from_dict(content | {"version": version})


def test_a_box_without_an_edge_is_refused() -> None:
    content = json.loads(render_json(make_captions("clip.mp4")))
    del content["captions"][0]["boxes"][0]["left"]
    with pytest.raises(KeyError, match="left"):
        from_dict(content)
    # Of version 1 nobody ever read them.
    made = make_captions("clip.mp4")
    old = replace(made, captions=tuple(map(forget_frames, made)))
    assert from_dict(content | {"version": 1}) == old


MARKUP = '"><script>alert(1)</script>'
PLACES = (
    *(("source",), ("duration",), ("width",), ("height",), ("model", "name"), ("captions", 0)),
    *(("captions", 0, each) for each in ("text", "confidence", "log_probability", "start", "end")),
    *(("captions", 0, "boxes", 0, each) for each in ("time", "frame", "region", "left", "bottom")),
    *(("captions", 0, "grid", each) for each in ("map_rows", "window", "stride")),
    *(("captions", 0, "evidence", 0, each) for each in ("word", "probability")),
    *(("captions", 0, "evidence", 0, "box", each) for each in ("time", "frame", "left")),
    ("captions", 0, "unsupported", 0),
)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
@pytest.mark.parametrize(
    "value",
    [MARKUP, [MARKUP], {MARKUP: 1}, None, True, -(10**400), 10**400],
    ids=["text", "list", "object", "null", "true", "low", "high"],
)
def test_what_is_of_another_kind_is_refused_or_harmless(
    tmp_path: Path, place: tuple[str | int, ...], value: object
) -> None:
    content: Any = json.loads(render_json(make_captions("clip.mp4")))
    part = content
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(content))
    try:
        read = read_captions(path)
    except CorpusError:
        return
    page = render_page(read, "clip.mp4")
    assert "<script>alert" not in page
    assert "-->" not in render_vtt(read).replace(" --> ", "")


@pytest.mark.parametrize("name", ["duration", "width", "height"])
def test_nothing_has_no_size(name: str) -> None:
    content = json.loads(render_json(make_captions("clip.mp4")))
    for value in (0, -1):
        with pytest.raises(ValueError, match="above 0"):
            from_dict({**content, name: value})
    assert from_dict({**content, "width": 0, "height": 0}).width == 0


def test_a_later_version_is_refused_with_a_remedy(tmp_path: Path) -> None:
    for version in (4, 99, 10**60):
        (tmp_path / "late.json").write_text(f'{{"version": {version}}}')
        refusal = r"late\.json: version .*; update densevidcap"
        with pytest.raises(CorpusError, match=refusal) as error:
            read_captions(tmp_path / "late.json")
        assert len(str(error.value).removeprefix(str(tmp_path))) < 160


@pytest.mark.parametrize(
    "change",
    [
        {"scenes": [[0, 2], [1, 4]]},
        {"scenes": [[2, 4], [0, 2]]},
        {"scenes": [[0, 0]]},
        {"scenes": [[0]]},
        {"scenes": [["0", "4"]]},
        {"scenes": [[0, 4]], "chapters": [{"start": 0}]},
        {"scenes": [[0, 4]], "chapters": [[0, 4]]},
        {"chapters": [{"start": 0, "end": 2, "title": "a"}, {"start": 2, "end": 4, "title": "b"}]},
    ],
)
def test_scenes_and_chapters_of_another_kind_are_refused(
    tmp_path: Path, change: dict[str, object]
) -> None:
    content = json.loads(render_json(make_captions("clip.mp4")))
    (tmp_path / "film.json").write_text(json.dumps({**content, **change}))
    with pytest.raises(CorpusError, match="caption the clip again"):
        read_captions(tmp_path / "film.json")


def test_titles_and_summary_follow_from_the_sentences() -> None:
    """So that a sentence that a person corrects is right everywhere."""
    spans = ((0.0, 2.0), (2.0, 4.0))
    said = (
        make_caption("a man", 0.0, 2.0, (0.5,), (0,)),
        make_caption("a dog", 2.0, 4.0, (3.0,), (0,)),
    )
    film = replace(make_captions("clip.mp4", *said), scenes=spans, chapters=spans)
    content = json.loads(render_json(film))
    assert [each["title"] for each in content["chapters"]] == ["A man", "A dog"]
    assert content["summary"] == "A man. A dog."
    content["captions"][1]["text"] = "A cat sleeps."
    again = json.loads(render_json(from_dict(content)))
    assert [each["title"] for each in again["chapters"]] == ["A man", "A cat sleeps"]
    assert again["summary"] == "A man. A cat sleeps."
