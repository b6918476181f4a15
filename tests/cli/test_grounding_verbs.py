"""`evaluate --boxes` and `experiment grounding`, on clips whose true boxes are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests import made_boxes
from tests.data.made_clips import write_folder
from tests.export.made_captions import make_captions
from tests.made_boxes import follow, list_boxes
from tests.models.small_world import make_model
from tests.pipeline.small_model import write_model

from densevidcap.cli import root
from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.data.manifest import ClipRecord, read_manifest, write_manifest
from densevidcap.errors import CorpusError, ModelError, OutputError
from densevidcap.examples import World, write_world
from densevidcap.examples.words import KIND_WORDS
from densevidcap.export.json_file import render_json
from densevidcap.model_folder import WEIGHTS, hash_file
from densevidcap.repro.results import Result as Found

WORLD = World(size=96, frames=4)
HELD_OUT = (8, 18)
"""Numbers of clips of split val."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two clips, their truth, captions, and a model that knows their words."""
    folder = tmp_path_factory.mktemp("grounding")
    clips = [WORLD.clip(number) for number in HELD_OUT]
    write_world(folder / "world", HELD_OUT, WORLD)
    (folder / "boxes.json").write_text(json.dumps(list_boxes({clip.id: clip for clip in clips})))
    (folder / "said").mkdir()
    for clip in clips:
        said = [follow(clip, thing) for thing in range(len(clip.things))]
        (folder / "said" / f"{clip.id}.json").write_text(render_json(make_captions(clip.id, *said)))
    words = [word for words in KIND_WORDS.values() for word in words]
    lexicon = Lexicon(LexiconEntry(word, 9, 1, "NOUN") for word in words)
    make_model(lexicon).save(folder / "model" / "words", {})
    return folder


def evaluate(folder: Path, *options: str, said: str = "said", boxes: str = "boxes.json") -> Result:
    given = ["--predictions", str(folder / said), "--boxes", str(folder / boxes)]
    return CliRunner().invoke(root, ["evaluate", *given, *options])


def experiment(
    folder: Path, out: Path, *options: str, data: str = "world/manifest.jsonl"
) -> Result:
    given = ["--data", str(folder / data), "--model", str(folder / "model"), "--out", str(out)]
    return CliRunner().invoke(root, ["experiment", "grounding", *given, *options])


def refuse(result: Result, *said: str, kind: type[Exception] = CorpusError) -> None:
    assert isinstance(result.exception, kind)
    assert "\n" not in str(result.exception)
    for part in said:
        assert part in str(result.exception)


def test_sentences_on_their_things_are_found_there(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.json"
    result = evaluate(folder, "--out", str(out))
    assert result.exit_code == 0, result.output
    assert "all: sentences" in result.output
    assert "different boxes of" in result.output
    written = json.loads(out.read_text())["grounding"]
    group = written["found"]["groups"]["all"]
    things = sum(len(WORLD.clip(number).things) for number in HELD_OUT)
    # A kind that two things of a clip have is asked for twice, and either is right.
    assert (group["cases"], group["clips"]) == (things * WORLD.frames, len(HELD_OUT))
    scores = group["scores"]
    assert scores["sentences"]["pointing"][0] == 1
    assert scores["sentences"]["iou"][0] > 2 * scores["random region"]["iou"][0]
    assert scores["frame centre"]["iou"] is None
    assert "persons" not in written["found"]["groups"]
    assert written["different"] <= written["boxes"] == things * WORLD.frames / len(HELD_OUT)

    refused = evaluate(folder, "--out", str(folder / "boxes.json"), "--overwrite")
    refuse(refused, "is read by this run", kind=OutputError)


def test_the_frames_of_films_need_no_rate_but_for_results_of_earlier_versions(
    folder: Path, tmp_path: Path
) -> None:
    def count_cases(said: str, boxes: str) -> tuple[int, float]:
        out = tmp_path / "scores.json"
        assert evaluate(folder, "--out", str(out), "--overwrite", said=said, boxes=boxes)
        group = json.loads(out.read_text())["grounding"]["found"]["groups"]["all"]
        return group["cases"], group["scores"]["sentences"]["pointing"][0]

    timed = json.loads((folder / "boxes.json").read_text())
    (folder / "untimed.json").write_text(json.dumps({**timed} | {"frame_rate": 1}))
    del timed["frame_rate"]
    (folder / "counted.json").write_text(json.dumps(timed))
    (folder / "old").mkdir()
    for path in (folder / "said").iterdir():
        content = json.loads(path.read_text()) | {"version": 2}
        (folder / "old" / path.name).write_text(json.dumps(content))
    expected = count_cases("said", "boxes.json")
    assert count_cases("said", "counted.json") == count_cases("old", "boxes.json") == expected
    # Of these, times are all there is, and without a rate every picture lasts a second.
    assert count_cases("old", "counted.json") == count_cases("said", "untimed.json") != expected


def test_sentences_of_a_folder_are_compared_in_the_frames_that_were_looked_at(
    tmp_path: Path,
) -> None:
    """Frames 2, 6 and 10 of 12: boxes there are the sentences' own, all others far from them."""
    pictures = write_folder(tmp_path / "film", 12)
    model = write_model(tmp_path / "model")
    few = ["--frames", "3", "-k", "1", "--set", "decoding.samples=2"]
    to = ["--model", str(model), "--format", "json", "--out", str(tmp_path / "said")]
    made = CliRunner().invoke(root, ["caption", str(pictures), *few, *to])
    assert made.exit_code == 0, made.output
    (caption,) = json.loads((tmp_path / "said" / "film.json").read_text())["captions"]
    elsewhere = ["thing", 0.0, 0.0, 0.01, 0.01]
    boxes = {str(frame): [elsewhere] for frame in range(12)}
    for box in caption["boxes"]:
        edges = [box[edge] for edge in ("left", "top", "right", "bottom")]
        boxes[str(box["frame"])] = [["thing", *edges]]
    truth = {"boxes": {"film": boxes}, "words": {"thing": caption["text"].split()}}
    (tmp_path / "boxes.json").write_text(json.dumps(truth))
    result = evaluate(tmp_path, "--out", str(tmp_path / "scores.json"))
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "scores.json").read_text())["grounding"]["found"]
    group = found["groups"]["all"]
    assert {box["frame"] for box in caption["boxes"]} <= {2, 6, 10}
    assert group["cases"] == len(caption["boxes"])
    assert group["scores"]["sentences"]["iou"][0] == 1


def test_only_the_first_sentences_count(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.json"
    assert evaluate(folder, "-k", "1", "--out", str(out)).exit_code == 0
    group = json.loads(out.read_text())["grounding"]["found"]["groups"]["all"]
    assert group["cases"] == len(HELD_OUT) * WORLD.frames


def test_boxes_stand_beside_the_scores_of_captions(folder: Path, tmp_path: Path) -> None:
    out, one = tmp_path / "scores.json", f"said/{WORLD.clip(8).id}.json"
    manifest = tmp_path / "one.jsonl"
    first, _ = read_manifest(folder / "world" / "manifest.jsonl")
    write_manifest(manifest, [first])
    result = evaluate(folder, "--references", str(manifest), "--out", str(out), said=one)
    assert result.exit_code == 0, result.output
    assert "First sentence of 1 videos" in result.output
    assert "all: sentences" in result.output
    written = json.loads(out.read_text())
    assert {"overall", "videos", "grounding", "reliability", "things"} <= written.keys()
    assert "Content words that a reference has" in result.output
    assert "Things that are named" in result.output
    # Captions of the world tell of kind and colour, and these sentences do too.
    assert written["reliability"]["shares"]["sentences"]["right"][0] > 0.5
    assert written["things"]["invented"] == 0


def test_a_silent_clip_is_no_fault_of_the_results(folder: Path, tmp_path: Path) -> None:
    said, out = tmp_path / "said", tmp_path / "scores.json"
    said.mkdir()
    for number, path in enumerate(sorted((folder / "said").iterdir())):
        content = json.loads(path.read_text())
        (said / path.name).write_text(
            json.dumps(content | ({"captions": [], "silent": [[0, 4]]} if number else {}))
        )
    references = ["--references", str(folder / "world" / "manifest.jsonl")]
    given = ["evaluate", "--predictions", str(said), *references, "--out", str(out)]
    result = CliRunner().invoke(root, given)
    assert result.exit_code == 0, result.output
    assert "Of 1 more videos nothing is said" in result.output
    written = json.loads(out.read_text())
    assert (len(written["videos"]), written["reliability"]["silent"]) == (1, 1)


def test_what_cannot_be_measured_is_told_in_a_line(folder: Path) -> None:
    sentences = folder / "sentences.json"
    sentences.write_text(json.dumps({WORLD.clip(8).id: ["a ball"]}))
    other = folder / "other.json"
    other.write_text(json.dumps({"another": {"0": [["dog", 0, 0, 0.5, 0.5]]}}))
    empty = folder / "empty"
    empty.mkdir()
    broken = folder / "broken"
    broken.mkdir()
    (broken / "a.json").write_text('{"version": 1, "captions": 3}')
    refuse(evaluate(folder, said="sentences.json"), "sentences.json: has sentences without boxes")
    refuse(evaluate(folder, boxes="other.json"), "other.json: no sentence names a thing")
    refuse(evaluate(folder, boxes="none.json"), "none.json: no such file")
    refuse(evaluate(folder, boxes="said"), "Is a folder")
    refuse(evaluate(folder, said="empty"), "empty: no results in it")
    refuse(evaluate(folder, said="broken"), "a.json: not captions as densevidcap writes them")
    alone = CliRunner().invoke(root, ["evaluate", "--predictions", str(sentences)])
    assert alone.exit_code == 2
    assert "Missing option '--references'" in alone.output


def test_words_are_pointed_at_in_frames_with_boxes(folder: Path, tmp_path: Path) -> None:
    result = experiment(folder, tmp_path, "--boxes", str(folder / "boxes.json"))
    assert result.exit_code == 0, result.output
    found = Found.load(tmp_path / "grounding" / "results.json")
    made_from = dict(found.origin)
    assert made_from["boxes"] == hash_file(folder / "boxes.json")
    assert made_from["weights of model/words"] == hash_file(folder / "model/words" / WEIGHTS)
    assert "settings of model/words" in made_from
    assert (found.clips, found.trained) == (len(HELD_OUT), 0)
    assert found.command == (
        f"densevidcap experiment grounding --data manifest.jsonl --model model"
        f" --boxes boxes.json --out {tmp_path.name}"
    )
    pointing, boxes = found.outcome.tables
    hits = {line.name.split(": ")[1]: line.ours for line in pointing.lines[:5]}
    assert list(hits) == [
        "words of the model",
        "frame centre",
        "constant box",
        "random point",
        "random region",
    ]
    assert all(0 <= low <= mean <= high <= 1 for mean, low, high in hits.values())
    assert all(len(line.ours) == 6 for line in boxes.lines)


def make_case(number: int, thing: int, frame: int) -> dict[str, Any]:
    clip = WORLD.clip(number)
    return made_boxes.make_case(clip.id, clip, thing, frame)


def write_cases(path: Path, *cases: dict[str, Any]) -> str:
    path.write_text("".join(f"{json.dumps(case)}\n" for case in cases))
    return str(path)


def test_pinned_cases_are_all_that_is_measured(folder: Path, tmp_path: Path) -> None:
    strange = make_case(8, 0, 1) | {"words": ["zeppelin"]}
    elsewhere = make_case(8, 0, 1) | {"clip": "elsewhere"}
    cases = write_cases(tmp_path / "cases.jsonl", make_case(8, 0, 3), strange, elsewhere)
    result = experiment(folder, tmp_path / "runs", "--boxes", cases)
    assert result.exit_code == 0, result.output
    for said in ("1 of 3 cases: ", "1 of 2 cases: the model has none of their words"):
        assert f"left out {said}" in result.stderr
    assert "all, 1 cases of 1 clips: words of the model" in result.stdout


def test_what_grounding_needs_is_said_before_any_work(folder: Path, tmp_path: Path) -> None:
    refuse(experiment(folder, tmp_path), "grounding: needs boxes", "give them with --boxes FILE")
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"another": {"0": [["dog", 0, 0, 0.5, 0.5]]}}))
    refuse(experiment(folder, tmp_path, "--boxes", str(other)), "other.json: of no clip of")
    strange = make_case(8, 0, 3) | {"words": ["zeppelin"]}
    cases = write_cases(tmp_path / "strange.jsonl", strange)
    failed = experiment(folder, tmp_path, "--boxes", cases)
    refuse(failed, "model: knows no word of", kind=ModelError)
    cases = write_cases(tmp_path / "elsewhere.jsonl", strange | {"clip": "elsewhere"})
    refuse(experiment(folder, tmp_path, "--boxes", cases), "elsewhere.jsonl: no case of a clip")
    beyond = write_cases(tmp_path / "cases.jsonl", make_case(8, 0, 3) | {"frame": 4})
    refuse(experiment(folder, tmp_path, "--boxes", beyond), "has 4 frames, but there are boxes of")
    assert not [*tmp_path.glob("grounding/*")]


def test_a_clip_that_cannot_be_read_is_named_and_left_out(folder: Path, tmp_path: Path) -> None:
    gone = ClipRecord("gone", str(tmp_path / "gone.mp4"), ("a ball",), None, "val")
    manifest = tmp_path / "manifest.jsonl"
    write_manifest(manifest, [*read_manifest(folder / "world" / "manifest.jsonl"), gone])
    lost = make_case(8, 0, 0) | {"clip": "gone"}
    cases = write_cases(tmp_path / "cases.jsonl", lost, make_case(8, 0, 0))
    result = experiment(folder, tmp_path / "runs", "--boxes", cases, data=str(manifest))
    assert result.exit_code == 0, result.output
    assert "left out gone: " in result.stderr
    only = write_cases(tmp_path / "only.jsonl", lost)
    failed = experiment(folder, tmp_path / "other", "--boxes", only, data=str(manifest))
    refuse(failed, "none of its clips can be read, as told above")
