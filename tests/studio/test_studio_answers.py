"""What the server answers, asked as a script would."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import astuple, replace
from io import BytesIO
from itertools import product
from pathlib import Path
from urllib.request import urlopen

import jsonschema
import pytest
from PIL import Image
from tests.data.made_clips import encode_picture, paint, write_gif
from tests.export.made_captions import FITTED, forget_frames, make_captions
from tests.studio.running import RunningStudio
from tests.studio.small_model import write_clip

from densevidcap.export import ENDINGS, SCHEMA, find_format
from densevidcap.export.json_file import to_dict
from densevidcap.pipeline.analysis import FILE, Analysis
from densevidcap.pipeline.captioner import STEPS
from densevidcap.pipeline.captions import choose_captions
from densevidcap.studio.answers import Result
from densevidcap.studio.routes import name_download
from densevidcap.studio.worker import FILMING
from densevidcap.types import Caption


def test_a_result_is_what_the_schema_says(studio: RunningStudio, done: str) -> None:
    result = studio.client.get(f"/api/clips/{done}/result", params={"k": 3}).json()
    jsonschema.validate(result["captions"], json.loads(SCHEMA.read_text()))
    assert result["captions"]["source"] == "square.mp4"
    assert len(result["captions"]["captions"]) == len(result["colours"]) == 3


def test_each_question_is_a_new_choice(studio: RunningStudio, done: str) -> None:
    (kept,) = (studio.data / "clips" / done).rglob(FILE)
    analysis = Analysis.load(kept.parent)
    selection = analysis.config.selection
    for k, diversity, sure in product((1, 3, 6), (0.0, 3.0), (0.0, 0.5, 1.0)):
        asked = studio.captions(done, k=k, diversity=diversity, sure=sure)
        said = tuple(caption["text"] for caption in asked)
        assert said == tuple(each.text for each in choose_captions(analysis, k, diversity, sure))
    # Surer than any sentence is: the best, as a guess.
    assert len(studio.captions(done, k=6, sure=1)) == 1
    assert len(studio.captions(done, k=6, sure=0)) > 1
    given = {"k": 2, "diversity": 0.25, "sure": 0.5}
    result = studio.client.get(f"/api/clips/{done}/result", params=given).json()
    assert result["captions"]["settings"] == {f"selection.{n}": v for n, v in given.items()}
    captions = result["captions"]["captions"]
    assert len(result["verdicts"]) == len(captions) > 0
    assert result["usual"] == {
        "k": selection.k,
        "diversity": selection.diversity,
        "sure": selection.sure,
    }


def test_a_heat_map_has_a_tile_for_each_frame_that_was_looked_at(
    studio: RunningStudio, done: str
) -> None:
    word = studio.client.get(f"/api/clips/{done}/result").json()["words"][0]
    heat = studio.client.get(f"/api/clips/{done}/heatmap", params={"word": word}).json()
    unknown = studio.client.get(f"/api/clips/{done}/heatmap", params={"word": "xylophone"})
    with urlopen(heat["picture"]) as file:
        picture = Image.open(BytesIO(file.read()))
    assert picture.height % len(heat["times"]) == 0
    assert heat["peak_time"] in heat["times"]
    assert heat["peak"] == pytest.approx(max(heat["strongest"]), abs=1e-4)
    assert (unknown.status_code, "xylophone" in unknown.text) == (404, True)


@pytest.mark.parametrize("kind", ENDINGS)
def test_each_format_can_be_downloaded(studio: RunningStudio, done: str, kind: str) -> None:
    answer = studio.client.get(f"/api/clips/{done}/export/{kind}").raise_for_status()
    name = answer.headers["content-disposition"].partition('filename="')[2].rstrip('"')
    assert name == ("square.captioned.mp4" if kind == "mp4" else f"square{ENDINGS[kind]}")
    assert answer.content
    assert str(studio.data) not in answer.text
    assert find_format(Path(name)) == kind


def test_a_new_format_is_offered_by_command_and_studio() -> None:
    """One line in `export/formats.py` is enough; in a process of its own, as a line would be."""
    added = """
from densevidcap.export import formats
formats.FORMATS["txt"] = formats.Format(".txt", "subtitles:render_srt", "captions", "text")
formats.ENDINGS["txt"] = ".txt"
import json
from click.testing import CliRunner
from fastapi import FastAPI
from densevidcap.cli.caption import command
from densevidcap.studio.routes import router
studio = FastAPI()
studio.include_router(router)
print(json.dumps([CliRunner().invoke(command, ["--help"]).output, studio.openapi()]))
"""
    ran = subprocess.run([sys.executable, "-c", added], capture_output=True, text=True, check=True)
    help_text, description = json.loads(ran.stdout)
    assert "fiftyone|txt" in help_text
    asked = description["paths"]["/api/clips/{id}/export/{format}"]["get"]["parameters"]
    (schema,) = (each["schema"] for each in asked if each["name"] == "format")
    for kind in (*ENDINGS, "txt"):
        assert re.search(schema["pattern"], kind)
    assert not re.search(schema["pattern"], "txt.exe")


def test_progress_comes_as_events_until_the_end(studio: RunningStudio, clip: Path) -> None:
    key = studio.post(clip).json()["id"]
    with studio.client.stream("GET", f"/api/clips/{key}/events") as events:
        jobs = [json.loads(line[6:]) for line in events.iter_lines() if line.startswith("data: ")]
    assert jobs[-1]["state"] == "done"
    assert [job["share"] for job in jobs] == sorted(job["share"] for job in jobs)


@pytest.mark.parametrize("kind", ["avi", "gif", "png"])
def test_what_browsers_do_not_play_becomes_a_film(
    studio: RunningStudio, tmp_path: Path, kind: str
) -> None:
    clip = tmp_path / f"clip.{kind}"
    if kind == "avi":
        write_clip(clip, 1, "mpeg4")
    elif kind == "gif":
        write_gif(clip)
    else:
        clip.write_bytes(encode_picture(paint(0, 1)))
    key = studio.caption(clip)
    film = studio.client.get(f"/api/clips/{key}/footage", headers={"Range": "bytes=4-7"})
    assert (film.status_code, film.headers["content-type"]) == (206, "video/mp4")
    assert film.content == b"ftyp"


def test_a_result_made_earlier_is_read_again(studio: RunningStudio, done: str) -> None:
    saved = studio.client.get(f"/api/clips/{done}/export/json").content
    result = studio.client.get(f"/api/clips/{done}/result").json()
    again = studio.client.post("/api/results", content=saved).raise_for_status().json()
    assert again["captions"] == result["captions"]
    assert again["colours"] == result["colours"]


def test_fitted_boxes_are_told_and_read_again(studio: RunningStudio, clip: Path) -> None:
    key = studio.caption(clip)
    (kept,) = (studio.data / "clips" / key).rglob(FILE)
    (segment,) = Analysis.load(kept.parent).segments
    regions = {astuple(segment.grid.box(region)) for region in range(len(segment.grid))}
    captions = studio.captions(key)
    edges = ("left", "top", "right", "bottom")
    told = {tuple(box[edge] for edge in edges) for each in captions for box in each["boxes"]}
    assert told - regions
    # Ten frames a second, of which only some were looked at.
    frames = [(box["frame"], box["time"]) for each in captions for box in each["boxes"]]
    assert all(time == pytest.approx(0.1 * frame) for frame, time in frames)
    assert len(set(frames)) < 40 - 1 <= max(frames)[0] + 4
    saved = studio.client.get(f"/api/clips/{key}/export/json").content
    again = studio.client.post("/api/results", content=saved).raise_for_status().json()
    assert again["captions"]["captions"] == captions


def test_results_of_every_version_are_read_but_later_ones(studio: RunningStudio) -> None:
    """Of those up to 2 it is not known which frames of the source were looked at."""
    made = to_dict(make_captions("clip.mp4", *FITTED))
    lost = to_dict(make_captions("clip.mp4", *map(forget_frames, FITTED)))
    plain = to_dict(make_captions("clip.mp4", *(strip(forget_frames(each)) for each in FITTED)))
    for version, expected in ((1, plain), (2, lost), (3, made)):
        answer = studio.client.post("/api/results", json=made | {"version": version})
        assert answer.raise_for_status().json()["captions"] == json.loads(json.dumps(expected))
    later = studio.client.post("/api/results", json=made | {"version": 4})
    assert (later.status_code, "version 4 of the format" in later.text) == (415, True)
    made["captions"][0]["boxes"][0]["left"] = 1.5
    broken = studio.client.post("/api/results", json=made)
    assert (broken.status_code, "not captions" in broken.text) == (415, True)


def strip(caption: Caption) -> Caption:
    """Without what was fitted."""
    return replace(caption, sequence=replace(caption.sequence, fitted=None))


def test_a_deleted_clip_leaves_nothing(studio: RunningStudio, clip: Path) -> None:
    key = studio.caption(clip)
    assert studio.client.delete(f"/api/clips/{key}").status_code == 204
    for part in ("", "/result", "/events", "/footage", "/export/json", "/heatmap?word=a"):
        assert studio.client.get(f"/api/clips/{key}{part}").status_code == 404
    assert not (studio.data / "clips" / key).exists()


def test_the_page_has_words_for_every_stage(studio: RunningStudio) -> None:
    script = studio.client.get("/static/progress.js").text
    for stage in (FILMING, *STEPS):
        assert f"\n  {stage}: " in script


def test_a_clip_of_another_version_is_named(studio: RunningStudio, clip: Path) -> None:
    key = studio.caption(clip)
    (analysis,) = (studio.data / "clips" / key).rglob(FILE)
    analysis.write_bytes(b"of another version")
    answer = studio.client.get(f"/api/clips/{key}/result")
    assert (answer.status_code, "post it again" in answer.text) == (410, True)
    # The list of clips still shows what it is.
    assert studio.client.get(f"/api/clips/{key}/picture").status_code == 200


def test_of_ten_sentences_none_share_a_colour() -> None:
    made = make_captions("clip.mp4", *[replace(FITTED[0], text=f"sentence {n}") for n in range(10)])
    assert len(set(Result.of(made).colours)) == 10


@pytest.mark.parametrize(
    ("name", "ending", "expected"),
    [
        ("x.mp4", ".mp4", "x.captioned.mp4"),
        ("X.MP4", ".mp4", "X.captioned.mp4"),
        ("x.avi", ".mp4", "x.mp4"),
        ("x.mp4", ".coco.json", "x.coco.json"),
        ("a.b.mov", ".srt", "a.b.srt"),
        ("clip", ".mp4", "clip.mp4"),
    ],
)
def test_downloads_are_called_like_the_clip(name: str, ending: str, expected: str) -> None:
    assert name_download(name, ending) == expected


def test_the_server_does_without_networks() -> None:
    """Only the worker needs them, and they take seconds and hundreds of megabytes."""
    asked = (
        "import sys, densevidcap.studio.app, densevidcap.studio.sandbox;"
        " print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
