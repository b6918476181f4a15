import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from densevidcap.cli import root
from densevidcap.data.manifest import read_manifest
from densevidcap.errors import CorpusError

ANNOTATIONS = {
    "videos": [
        {"video_id": "video0", "category": 9, "split": "train"},
        {"video_id": "video7", "category": 13, "split": "validate"},
    ],
    "sentences": [
        {"video_id": "video0", "caption": "a car drives"},
        {"video_id": "video7", "caption": "a dog runs"},
    ],
}


@pytest.fixture
def annotations(tmp_path: Path) -> Path:
    path = tmp_path / "info.json"
    path.write_text(json.dumps(ANNOTATIONS))
    return path


def test_msrvtt_without_videos(annotations: Path, tmp_path: Path) -> None:
    out = tmp_path / "clips.jsonl"
    result = CliRunner().invoke(
        root, ["prepare", "msrvtt", "--annotations", str(annotations), "--out", str(out)]
    )
    assert result.exit_code == 0, result.output
    assert "2 clips in" in result.output
    assert [(clip.id, clip.source) for clip in read_manifest(out)] == [
        ("video0", None),
        ("video7", None),
    ]


@pytest.mark.parametrize("kind", ["--videos", "--frames"])
def test_msrvtt_with_pictures(annotations: Path, tmp_path: Path, kind: str) -> None:
    places = {"--videos": "video0.mp4", "--frames": "video0"}
    pictures = tmp_path / "pictures"
    (pictures / "video0").mkdir(parents=True)
    (pictures / "video0" / "0.png").touch()
    (pictures / "video0.mp4").touch()
    out = tmp_path / "clips.jsonl"
    arguments = ["--annotations", str(annotations), kind, str(pictures), "--out", str(out)]
    result = CliRunner().invoke(root, ["prepare", "msrvtt", *arguments, "--skip-missing"])
    assert result.exit_code == 0, result.output
    assert [clip.source for clip in read_manifest(out)] == [str(pictures / places[kind])]


def test_a_missing_video_is_one_line_and_no_manifest(annotations: Path, tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    out = tmp_path / "clips.jsonl"
    command = [sys.executable, "-m", "densevidcap", "prepare", "msrvtt"]
    arguments = ["--annotations", annotations, "--videos", tmp_path / "videos", "--out", out]
    run = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == 1
    message = run.stderr.strip().splitlines()[-1]
    assert message.startswith("densevidcap: ")
    assert "video0, video7" in message
    assert "Traceback" not in run.stderr
    assert not out.exists()


def test_arguments_that_do_not_go_together(annotations: Path, tmp_path: Path) -> None:
    place = str(tmp_path)
    for arguments in (
        [],
        ["--annotations", str(annotations), "--videos", place, "--frames", place],
    ):
        result = CliRunner().invoke(
            root, ["prepare", "msrvtt", *arguments, "--out", str(tmp_path / "clips.jsonl")]
        )
        assert result.exit_code == 2
        assert "Give" in result.output


def test_msvd(tmp_path: Path) -> None:
    descriptions, out = tmp_path / "AllVideoDescriptions.txt", tmp_path / "clips.jsonl"
    descriptions.write_text("".join(f"v{n:04}_1_9 a man runs\n" for n in range(1970)))
    result = CliRunner().invoke(
        root, ["prepare", "msvd", "--annotations", str(descriptions), "--out", str(out)]
    )
    assert result.exit_code == 0, result.output
    assert "1,970 clips in" in result.output


def test_own_table(tmp_path: Path) -> None:
    (tmp_path / "cat.mp4").touch()
    table, out = tmp_path / "mine.csv", tmp_path / "clips.jsonl"
    table.write_text("video,caption\ncat.mp4,a cat\n")
    result = CliRunner().invoke(root, ["prepare", "table", str(table), "--out", str(out)])
    assert result.exit_code == 0, result.output
    (clip,) = read_manifest(out)
    assert (clip.id, clip.captions) == ("cat", ("a cat",))


@pytest.mark.parametrize("content", ["", "video,caption\n", "video,caption\ngone.mp4,a cat\n"])
def test_a_manifest_stays_if_there_are_no_clips_for_another(tmp_path: Path, content: str) -> None:
    table, out = tmp_path / "mine.csv", tmp_path / "clips.jsonl"
    table.write_text(content)
    out.write_text('{"id": "a", "captions": ["a cat"], "split": "train"}\n')
    before = out.read_bytes()
    asked = ["prepare", "table", str(table), "--out", str(out), "--overwrite", "--skip-missing"]
    result = CliRunner().invoke(root, asked)
    assert isinstance(result.exception, CorpusError)
    assert "no clips in it" in str(result.exception)
    assert out.read_bytes() == before
