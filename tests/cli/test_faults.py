"""What users get wrong, through the real entry point: one line, exit code 1, no trace."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest
from tests.data.made_clips import write_video

from densevidcap.cli import main
from densevidcap.cli.clips import name_by_ids, name_files, plan_outputs
from densevidcap.errors import DenseVidCapWarning
from densevidcap.outputs import Inputs


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    write_video(tmp_path / "talk.mp4", 5)
    for folder in ("empty", "dangling", "listed"):
        (tmp_path / folder).mkdir()
    (tmp_path / "dangling" / "1.png").symlink_to("nowhere.png")
    (tmp_path / "listed" / "card.json").write_text('{"files": ["weights.safetensors"]}')
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "numbers.json").write_text(
        '{"sentences": [{"video_id": "v", "caption": 5}],'
        ' "videos": [{"video_id": "v", "category": 1, "split": "train"}]}'
    )
    (tmp_path / "one.jsonl").write_text('{"id": "v", "captions": ["a dog"], "split": "train"}')
    return tmp_path


FAULTS = {
    "an empty folder": ("frames empty", "empty: holds no frames"),
    "a link to nowhere": ("frames dangling", "dangling/1.png: No such file"),
    "a name that cannot be": (f"frames {'a' * 5000}", "File name too long; check the path"),
    "a file as a model": ("words talk.mp4 --model talk.mp4", "talk.mp4: no card.json in it"),
    "a card that lists": ("words talk.mp4 --model listed", "card.json: not a model card"),
    "captions that are numbers": (
        "prepare msrvtt --annotations numbers.json --out out.jsonl",
        "numbers.json: not in MSR-VTT's 2016 form (a caption is not text)",
    ),
    "JSON without end": ("lexicon --captions deep.json --out out.json", "nested too deep"),
    "too few captions": ("lexicon --captions one.jsonl --out out.json", "lower --min-count"),
    "writing below a file": (
        "prepare table talk.csv --out talk.mp4/out.jsonl",
        "talk.mp4/out.jsonl: cannot be written",
    ),
    "reading below a file": (
        "prepare msrvtt --shards talk.mp4 --out out.jsonl",
        "talk.mp4: no such folder",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fault: str,
) -> None:
    command, reason = FAULTS[fault]
    before = set(here.iterdir())
    assert _exit_code(monkeypatch, command) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("densevidcap: ")
    assert reason in line
    assert set(here.iterdir()) == before


def test_a_full_disk_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise OSError(28, "No space left on device", "model/weights")

    monkeypatch.setattr("densevidcap.cli.root", fail)
    assert _exit_code(monkeypatch, "") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("densevidcap: model/weights: No space left on device; ")


def test_what_looks_like_markup_is_printed_as_it_is(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.csv").write_text("video,caption,split\ntalk.mp4,a dog,[/b]\n")
    assert _exit_code(monkeypatch, "prepare table mine.csv --out [/i].jsonl") == 0
    printed = capsys.readouterr().out
    assert "[/b]" in printed
    assert "1 clips in [/i].jsonl" in printed


def test_a_warning_is_one_line(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _exit_code(monkeypatch, "--version") == 0
    warnings.showwarning(DenseVidCapWarning(f"{here}: is odd"), DenseVidCapWarning, "code.py", 1)
    assert capsys.readouterr().err == f"densevidcap: {here}: is odd\n"


def test_no_two_clips_share_a_name_for_their_files() -> None:
    names = name_files(["x/a.mp4", "x/a-2.mp4", "y/a.mp4", "x/a.mp4"])
    assert list(names.values()) == ["a", "a-2", "a-3"]


def test_files_about_clips_have_the_whole_of_their_ids() -> None:
    ids = ["v_1.0", "v_1.5", "cat/1", "dog/1", "film.mp4", "../../evil", ".."]
    names = [*name_by_ids(ids).values()]
    assert names == ["v_1.0", "v_1.5", "cat-1", "dog-1", "film", "evil", "clip"]
    assert [*name_files(["x/v_1.0.mp4", "s.tar::v_2.5", "f.npy"]).values()] == [
        *("v_1.0", "v_2.5", "f")
    ]
    assert [*plan_outputs(["v_1.0", "v_1.5"], ["json"], Path("out"), Inputs()).values()] == [
        [("json", Path("out/v_1.0.json"))],
        [("json", Path("out/v_1.5.json"))],
    ]


def _exit_code(monkeypatch: pytest.MonkeyPatch, command: str) -> object:
    monkeypatch.setattr(sys, "argv", ["densevidcap", *command.split()])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code
