"""A studio that was opened on a library, asked as a script would."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from tests.export.made_captions import make_caption
from tests.studio.made_shelf import DOG, MAN, shelve
from tests.studio.running import RunningStudio, run_idle_studio
from tests.studio.small_model import write_clip

from densevidcap.cli import root
from densevidcap.data.manifest import read_manifest
from densevidcap.library.store import Library
from densevidcap.pipeline.analysis import Analysis
from densevidcap.studio.answers import HeatMap, brightness
from densevidcap.studio.limits import StudioLimits


def ask(shelf: RunningStudio, path: str, **query: Any) -> Any:
    return shelf.client.get(path, params=query).raise_for_status().json()


def list_names(shelf: RunningStudio, **query: Any) -> list[str]:
    return [clip["name"] for clip in ask(shelf, "/api/library", **query)["clips"]]


def test_all_clips_are_listed_filtered_sorted_and_paged(shelf: RunningStudio) -> None:
    assert ask(shelf, "/api/studio")["library"] == "holiday"
    assert list_names(shelf, sort="name") == ["beach.mp4", "kitchen.mp4", "old.avi"]
    assert list_names(shelf, sort="sure") == ["old.avi", "beach.mp4", "kitchen.mp4"]
    assert list_names(shelf, sort="unsure") == ["kitchen.mp4", "beach.mp4", "old.avi"]
    assert list_names(shelf, words="COOKING man") == ["kitchen.mp4"]
    assert list_names(shelf, words="avi") == ["old.avi"]
    assert list_names(shelf, sort="name", offset=1, most=1) == ["kitchen.mp4"]
    page = ask(shelf, "/api/library", words="man", most=1)
    assert (page["total"], page["fitting"]) == (3, 1)
    (card,) = page["clips"]
    assert (card["text"], card["missing"], card["corrected"]) == ("A man is cooking.", False, 0)


def test_a_question_is_answered_as_by_the_command(shelf: RunningStudio, folder: Path) -> None:
    (first, *_) = ask(shelf, "/api/find", question="a dog on the beach")["answers"]
    expected = Library(folder / "holiday.library").find("a dog on the beach")[0]
    assert expected.box is not None
    assert first["id"] == expected.identity
    assert (first["time"], first["sentence"]) == (expected.time, DOG)
    assert first["box"] == pytest.approx([0.2, 0.4, 0.4, 0.8])
    assert str(folder) not in json.dumps(first)
    refused = shelf.client.get("/api/find", params={"question": "?"})
    assert (refused.status_code, "no words" in refused.text) == (409, True)


def test_a_card_shows_what_its_sentence_is_about(
    shelf: RunningStudio, ids: dict[str, str], tmp_path: Path
) -> None:
    def look(key: str, **time: float) -> bytes:
        answer = shelf.client.get(f"/api/clips/{key}/picture", params=time)
        return answer.raise_for_status().content

    # Where its surest word is seen best.
    key = ids["beach.mp4"]
    assert look(key) == look(key, time=0.5) != look(key, time=1.4)
    # Or in the middle of what nothing speaks for.
    clip = write_clip(tmp_path / "late.mp4", 3.9)
    said = replace(make_caption(MAN, 2.0, 3.0, (2.2, 2.7), (9, 9)), evidence=())
    late = shelve(Library(shelf.data), clip, said)
    assert look(late) == look(late, time=2.5) != look(late, time=1.3)
    for query in ({}, {"forever": True}):
        shelf.client.delete(f"/api/clips/{late}", params=query).raise_for_status()


def test_clips_are_seen_where_they_lie(shelf: RunningStudio, ids: dict[str, str]) -> None:
    for name, media in (("beach.mp4", "video/mp4"), ("old.avi", "video/mp4")):
        film = shelf.client.get(f"/api/clips/{ids[name]}/footage", headers={"Range": "bytes=4-7"})
        assert (film.status_code, film.headers["content-type"]) == (206, media)
        assert film.content == b"ftyp"
    early, late = (
        np.asarray(
            Image.open(
                BytesIO(
                    shelf.client.get(
                        f"/api/clips/{ids['beach.mp4']}/picture", params={"time": time}
                    ).content
                )
            )
        )
        for time in (0, 3.9)
    )
    # The square is at the left first and at the right at the end.
    side = early.shape[1] // 8
    assert early[early.shape[0] // 2, side].sum() > 400 > late[early.shape[0] // 2, side].sum()
    assert shelf.client.get(f"/api/clips/{ids['beach.mp4']}/sound").status_code == 204


def test_what_a_person_says_stands_beside_what_the_model_said(
    shelf: RunningStudio, ids: dict[str, str], folder: Path
) -> None:
    address, library = f"/api/clips/{ids['beach.mp4']}/correction", Library(shelf.data)

    def put(**query: str) -> dict[str, Any]:
        answer: dict[str, Any] = shelf.client.put(address, params=query).raise_for_status().json()
        return answer

    approved = put(said=DOG, text=DOG)
    assert approved["notes"] == [
        {"said": DOG, "mark": "approved"},
        {"said": MAN, "mark": ""},
    ]
    changed = put(said=DOG, text="A poodle runs.")
    assert changed["notes"][0] == {"said": DOG, "mark": "changed"}
    assert [c["text"] for c in changed["captions"]["captions"]] == ["A poodle runs.", MAN]
    rejected = put(said=MAN)
    assert rejected["rejected"] == [MAN]
    assert [c.text for c in library.captions(ids["beach.mp4"])] == ["A poodle runs."]
    assert [c.text for c in library.read_entry(ids["beach.mp4"]).captions] == [DOG, MAN]
    # Searched and listed at once.
    assert ask(shelf, "/api/find", question="poodle")["answers"][0]["sentence"] == "A poodle runs."
    assert list_names(shelf, show="corrected") == ["beach.mp4"]
    training = shelf.client.post("/api/training").raise_for_status().json()
    assert (training["clips"], training["sentences"]) == (1, 1)
    (record,) = read_manifest(training["manifest"])
    assert (record.captions, record.source) == (
        ("A poodle runs.",),
        str(folder / "clips" / "beach.mp4"),
    )
    assert training["manifest"] in training["command"]
    for said in (DOG, MAN):
        undone = shelf.client.delete(address, params={"said": said}).raise_for_status().json()
    assert [c["text"] for c in undone["captions"]["captions"]] == [DOG, MAN]
    assert shelf.client.delete(address, params={"said": DOG}).status_code == 404
    for wrong in ({"said": "Nobody says this.", "text": "x"}, {"said": DOG, "text": " "}):
        assert shelf.client.put(address, params=wrong).status_code == 409
    assert shelf.client.post("/api/training").status_code == 409


def test_what_is_deleted_can_be_restored_until_it_is_forgotten(
    shelf: RunningStudio, ids: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    key = ids["kitchen.mp4"]
    shelf.client.delete(f"/api/clips/{key}").raise_for_status()
    assert shelf.client.get(f"/api/clips/{key}/result").status_code == 404
    assert list_names(shelf, sort="name") == ["beach.mp4", "old.avi"]
    assert list_names(shelf, show="deleted") == ["kitchen.mp4"]
    shelf.client.post(f"/api/clips/{key}/restore").raise_for_status()
    assert ask(shelf, f"/api/clips/{key}/result")["captions"]["captions"]
    assert shelf.client.post(f"/api/clips/{key}/restore").status_code == 404
    assert shelf.client.delete(f"/api/clips/{key}?forever=true").status_code == 404
    # Dropped again after it was deleted, it is back.
    shelf.client.delete(f"/api/clips/{key}").raise_for_status()
    back = shelf.post(folder / "clips" / "kitchen.mp4").raise_for_status().json()
    assert (back["known"], back["state"], back["id"]) == (True, "done", key)
    # Deleted while it is looked at again, it stays deleted, and what was dropped stays.
    shelf.client.post(f"/api/clips/{key}/look").raise_for_status()
    shelf.client.delete(f"/api/clips/{key}").raise_for_status()
    # For good: only what the library knew; the file is the person's.
    new = shelf.caption(write_clip(tmp_path / "new.mp4", 1.0))
    (dropped,) = (shelf.data / "studio" / "clips" / new).glob("source*")
    shelf.client.delete(f"/api/clips/{new}").raise_for_status()
    assert dropped.exists()
    assert list_names(shelf, show="deleted", sort="name") == ["kitchen.mp4", "new.mp4"]
    shelf.client.delete(f"/api/clips/{new}?forever=true").raise_for_status()
    assert not dropped.exists()
    shelf.client.post(f"/api/clips/{key}/restore").raise_for_status()
    assert list_names(shelf, show="deleted") == []
    assert (folder / "clips" / "kitchen.mp4").exists()


def test_what_is_dropped_is_in_the_library_once(
    shelf: RunningStudio, folder: Path, tmp_path: Path
) -> None:
    clip = write_clip(tmp_path / "fresh.mp4", 2.5)
    first, second = (shelf.post(clip).raise_for_status().json() for _ in range(2))
    assert (first["known"], second["known"]) == (False, True)
    assert first["id"] == second["id"]
    assert shelf.await_end(first["id"])["state"] == "done"
    library = Library(folder / "holiday.library")
    said = [caption.text for caption in library.captions(first["id"])]
    result = ask(shelf, f"/api/clips/{first['id']}/result")
    assert [caption["text"] for caption in result["captions"]["captions"]] == said
    assert result["captions"]["source"] == "fresh.mp4"
    assert result["usual"]
    (card,) = ask(shelf, "/api/library", words="fresh")["clips"]
    assert (card["id"], card["text"]) == (first["id"], said[0])
    assert library.find_identity("fresh.mp4") == first["id"]
    assert shelf.post(folder / "clips" / "beach.mp4").json()["known"]


def test_a_clip_captioned_elsewhere_is_looked_at_again(
    shelf: RunningStudio, ids: dict[str, str]
) -> None:
    key = ids["old.avi"]
    assert ask(shelf, f"/api/clips/{key}/result")["usual"] == {}
    for refused in ("result?k=2", "heatmap?word=dog"):
        answer = shelf.client.get(f"/api/clips/{key}/{refused}")
        assert (answer.status_code, "look again" in answer.text) == (409, True)
    said = "A ball lies there."
    shelf.client.put(f"/api/clips/{key}/correction", params={"said": said, "text": said})
    shelf.client.post(f"/api/clips/{key}/look").raise_for_status()
    # Stopping it does not delete the clip.
    shelf.client.delete(f"/api/queue/{key}").raise_for_status()
    assert ask(shelf, f"/api/clips/{key}")["state"] == "done"
    shelf.client.post(f"/api/clips/{key}/look").raise_for_status()
    assert shelf.await_end(key)["state"] == "done"
    result = ask(shelf, f"/api/clips/{key}/result")
    assert result["usual"]
    assert {"said": said, "mark": "approved"} in result["notes"]
    assert ask(shelf, f"/api/clips/{key}/heatmap", word=result["words"][0])["times"]
    assert len(ask(shelf, f"/api/clips/{key}/result", k=1)["captions"]["captions"]) <= 2


def test_the_queue_is_told_whole_then_by_changes(shelf: RunningStudio) -> None:
    with shelf.client.stream("GET", "/api/queue/events") as events:
        line = next(line for line in events.iter_lines() if line.startswith("data: "))
    told = json.loads(line[6:])
    assert set(told) == {"jobs", "gone", "revision"}
    assert told["revision"]


def test_ids_that_are_none_are_not_looked_up(shelf: RunningStudio) -> None:
    for key in ("..%2f..%2fevil", "%2e%2e", "a" * 32, "A" * 32, "0" * 31):
        for method, path in (
            ("GET", "result"),
            ("GET", "picture"),
            ("POST", "look"),
            ("POST", "restore"),
        ):
            answer = shelf.client.request(method, f"/api/clips/{key}/{path}")
            assert answer.status_code in (404, 405), (key, path)
        assert shelf.client.delete(f"/api/clips/{key}").status_code in (404, 405)
        assert shelf.client.delete(f"/api/queue/{key}").status_code in (404, 405)


def test_a_studio_of_strangers_has_no_library(studio: RunningStudio, done: str) -> None:
    for method, path in (
        ("GET", "/api/library"),
        ("GET", "/api/find?question=dog"),
        ("POST", "/api/training"),
        ("POST", f"/api/clips/{done}/look"),
        ("POST", f"/api/clips/{done}/restore"),
        ("PUT", f"/api/clips/{done}/correction?said=x"),
        ("DELETE", f"/api/clips/{done}?forever=1"),
    ):
        answer = studio.client.request(method, path)
        assert (answer.status_code, "without a library" in answer.text) == (404, True), path
    assert studio.client.get(f"/api/clips/{done}").status_code == 200


def test_turns_can_be_changed_and_clips_stopped(tmp_path: Path) -> None:
    with run_idle_studio(tmp_path / "data", StudioLimits()) as client:
        clips = [write_clip(tmp_path / f"{n}.mp4", 0.5) for n in range(3)]
        keys = [
            client.post("/api/clips", params={"name": clip.name}, content=clip.read_bytes()).json()[
                "id"
            ]
            for clip in clips
        ]

        def order() -> list[str]:
            waiting = [job for job in client.get("/api/clips").json() if job["state"] != "failed"]
            return [job["id"] for job in sorted(waiting, key=lambda job: job["ahead"])]

        assert order() == keys
        assert client.put(f"/api/queue/{keys[2]}?before={keys[0]}").json()["ahead"] == 0
        assert order() == [keys[2], keys[0], keys[1]]
        client.delete(f"/api/queue/{keys[0]}").raise_for_status()
        assert order() == [keys[2], keys[1]]
        for key, before in ((keys[0], keys[1]), (keys[1], keys[0])):
            assert client.put(f"/api/queue/{key}?before={before}").status_code == 409
        assert client.delete(f"/api/queue/{keys[0]}").status_code == 404
        assert client.post(f"/api/queue/{keys[1]}").status_code == 409


def test_a_refusal_names_the_limit(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "film.mp4", 3.0)
    for limits, reason in (
        (replace(StudioLimits(), max_duration=1.0), "film.mp4: too long"),
        (replace(StudioLimits(), max_pixels=100), "film.mp4: its pictures are too large"),
        (replace(StudioLimits(), max_bytes=100), "film.mp4: too large"),
    ):
        with run_idle_studio(tmp_path / "data", limits) as client:
            answer = client.post(
                "/api/clips", params={"name": clip.name}, content=clip.read_bytes()
            )
            assert (answer.status_code, answer.json()["detail"].startswith(reason)) == (413, True)


def test_a_library_is_not_bounded_unless_somebody_says_so() -> None:
    usual = StudioLimits.of_library()
    assert usual.max_bytes > 2**39
    assert usual.max_duration >= 12 * 3600
    assert usual.max_clips > 10**6
    assert usual.max_age == float("inf")


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("mine")
    run = CliRunner().invoke(root, ["serve", str(tmp_path)])
    assert "is no library" in str(run.exception)
    both = CliRunner().invoke(root, ["serve", str(tmp_path), "--data", str(tmp_path / "data")])
    assert (both.exit_code, "leave out --data" in both.output) == (2, True)


def test_the_same_brightness_is_the_same_probability_everywhere(
    studio: RunningStudio, done: str
) -> None:
    (kept,) = (studio.data / "clips" / done).rglob("*.safetensors")
    (segment,) = Analysis.load(kept.parent).segments
    word = segment.words[0]

    def draw(level: float, peak: float | None = None) -> tuple[HeatMap, Any]:
        """A map that is `level` all over, but for its first frame's, which has a `peak`."""
        shown = np.full_like(segment.probabilities, level)
        if peak is not None:
            shown[0, 0] = peak
        heat = HeatMap.of(replace(segment, probabilities=shown, close_up=None), word)
        with urlopen(heat.picture) as file:
            return heat, np.asarray(Image.open(BytesIO(file.read())))

    plain, one = draw(0.3)
    peaked, other = draw(0.3, 0.9)
    side = len(one) // len(plain.times)
    assert (one[side:] == other[side:]).all()
    assert [plain.peak, peaked.peak] == pytest.approx([0.3, 0.9], abs=1e-3)
    assert other[:side, :, 3].max() > one[:side, :, 3].max()
    # What is told as 0 % does not glow.
    for level in (0.0, 0.0049):
        faint, pixels = draw(level)
        assert round(100 * faint.peak) == 0
        assert (pixels[..., 3] == 0).all()
    levels = brightness(np.linspace(0, 1, 11, dtype=np.float32))
    assert (np.diff(levels) > 0).all()


def test_the_list_and_the_frame_tell_the_same_probability(studio: RunningStudio, done: str) -> None:
    result = studio.client.get(f"/api/clips/{done}/result").json()
    told = [
        (evidence, caption["start"])
        for caption in result["captions"]["captions"]
        for evidence in caption["evidence"]
        if evidence["word"] in result["words"]
    ]
    assert told
    for evidence, start in told:
        query = {"word": evidence["word"], "time": start}
        heat = studio.client.get(f"/api/clips/{done}/heatmap", params=query).json()
        frame = int(np.abs(np.array(heat["times"]) - evidence["box"]["time"]).argmin())
        assert heat["strongest"][frame] >= evidence["probability"] - 1e-3
        assert heat["peak"] >= heat["strongest"][frame] - 1e-3
