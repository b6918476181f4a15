"""The verb `regions`, through the real command line, with a small model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import av
import click
import pytest
from click.testing import CliRunner, Result
from PIL import Image
from tests.data.made_clips import write_folder, write_video

from densevidcap.cli import root
from densevidcap.cli.regions import command
from densevidcap.regions.search import SEARCHES

SEEN = {"dog", "running", "t-shirt"}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(root, ["regions", *map(str, arguments)])


def test_a_table_names_each_sequence(model: Path, clip: Path) -> None:
    result = run(clip, "--model", model, "--frames", 4, "-k", 3, "--top", 1)
    assert result.exit_code == 0, result.output
    assert "talk.mp4" in result.stdout
    rows = [line.split() for line in result.stdout.splitlines() if "%" in line]
    assert [row[:2] for row in rows] == [["1", "orange"], ["2", "sky"], ["3", "green"]]
    assert all("0.2-1.7" in row and SEEN & set(row) for row in rows)
    ways = [next(cell for cell in row if set(cell) <= set("↖↑↗←·→↙↓↘")) for row in rows]
    assert {len(way) for way in ways} == {4}


def test_json_tells_words_boxes_and_times(model: Path, clip: Path) -> None:
    result = run(clip, "--model", model, "--frames", 4, "--json", "--optimiser", "every-start")
    (report,) = json.loads(result.stdout)
    assert report["clip"] == str(clip)
    assert len(report["sequences"]) == 10  # as many as the model's config says
    for sequence in report["sequences"]:
        assert sequence["times"] == pytest.approx([0.2, 0.7, 1.2, 1.7])
        assert (sequence["start"], sequence["end"]) == pytest.approx((0.2, 1.7))
        assert len(sequence["boxes"]) == 4
        for left, top, right, bottom in sequence["boxes"]:
            assert 0 <= left < right <= 1
            assert 0 <= top < bottom <= 1
        assert {word["word"] for word in sequence["words"]} == SEEN
        assert all(0 <= word["probability"] <= 1 for word in sequence["words"])


def test_sheets_and_videos_of_all_clips(model: Path, clip: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    namesake = write_video(tmp_path / "other" / "talk.mp4", 12)
    pictures = write_folder(tmp_path / "pictures", 3)
    out = tmp_path / "drawn" / "here"
    result = run(clip, namesake, pictures, "--model", model, "--frames", 3, "--out", out)
    assert result.exit_code == 0, result.output
    # The last of pictures at one a second is shown again at its end.
    lengths = {"talk": 20, "talk-2": 12, "pictures": 3 + 1}
    assert {path.name for path in out.iterdir()} == {
        f"{name}-regions{suffix}" for name in lengths for suffix in (".png", ".mp4")
    }
    for name, length in lengths.items():
        with av.open(str(out / f"{name}-regions.mp4")) as container:
            assert len(list(container.decode(video=0))) == length
        with Image.open(out / f"{name}-regions.png") as sheet:
            assert sheet.format == "PNG"


def test_a_broken_clip_is_named_and_the_rest_go_on(model: Path, clip: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_text("this is not a video")
    arguments: list[Path | str] = [broken, clip, "--model", model, "--frames", "2", "--json"]
    finished = subprocess.run(
        [sys.executable, "-m", "densevidcap", "regions", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 1
    assert [report["clip"] for report in json.loads(finished.stdout)] == [str(clip)]
    line, summary = finished.stderr.splitlines()
    assert line.startswith(f"densevidcap: {broken}: ")
    assert summary == f"densevidcap: 1 of 2 clips failed, as told above: {broken}"


def test_a_folder_that_cannot_be_written_is_named_once(
    model: Path, clip: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    result = run(clip, clip, "--model", model, "--out", tmp_path / "file" / "out")
    assert "cannot be written (Not a directory); choose another place" in str(result.exception)


def test_every_search_can_be_asked_for() -> None:
    (choice,) = (p.type for p in command.params if isinstance(p.type, click.Choice))
    assert set(choice.choices) == set(SEARCHES)
