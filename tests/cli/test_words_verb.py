"""The verb `words`, through the real command line, with a small model."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import av
import pytest
from click.testing import CliRunner, Result
from PIL import Image
from tests.models.small_world import TAGS

from densevidcap.cli import root
from densevidcap.errors import ModelError
from densevidcap.model_folder import CARD
from densevidcap.pipeline.captioner import RANKING
from densevidcap.pipeline.confidence import Curve, Trust


def run(*arguments: object) -> Result:
    return CliRunner().invoke(root, ["words", *map(str, arguments)])


def test_a_table_of_what_can_be_seen(model: Path, clip: Path) -> None:
    result = run(clip, "--model", model, "--frames", 4)
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines() if "%" in line]
    assert {row[0] for row in rows} == {"dog", "running", "t-shirt"}
    assert {row[1] for row in rows} == {"noun", "verb"}
    assert [row[0] for row in rows[:1]] == [
        line.split()[0]
        for line in run(clip, "--model", model, "--frames", 4, "--top", 1).stdout.splitlines()
        if "%" in line
    ]


def test_json_tells_place_and_time(model: Path, clip: Path) -> None:
    result = run(clip, "--model", model, "--frames", 4, "--all", "--json")
    report = json.loads(result.stdout)
    assert report["clip"] == str(clip)
    assert {word["word"] for word in report["words"]} == set(TAGS)
    scores = [word["probability"] for word in report["words"]]
    assert scores == sorted(scores, reverse=True)
    for word in report["words"]:
        left, top, right, bottom = word["box"]
        assert 0 <= left < right <= 1
        assert 0 <= top < bottom <= 1
        assert word["frame"] in (2, 7, 12, 17)
        assert word["time"] == pytest.approx(0.1 * word["frame"])
        assert not word.keys() & {"index", "source_frame"}
        assert word["peak"] <= 1


def test_probabilities_are_those_that_the_model_was_calibrated_to(
    model: Path, clip: Path, tmp_path: Path
) -> None:
    """As in captions and in a library: a word has one figure."""

    def list_words() -> list[tuple[float, float]]:
        words = json.loads(run(clip, "--model", whole, "--frames", 4, "--json").stdout)["words"]
        return [(word["probability"], word["peak"]) for word in words]

    whole = tmp_path / "whole"
    shutil.copytree(model, whole / "words")
    raw = list_words()
    (whole / CARD).write_text("{}")
    trust = Trust(clip=Curve((0.0, 1.0), (0.0, 0.5)), region=Curve((0.0, 1.0), (0.2, 1.0)))
    trust.save(whole / RANKING)
    for (probability, peak), rated in zip(raw, list_words(), strict=True):
        assert rated == pytest.approx((probability / 2, 0.2 + 0.8 * peak))


def test_a_words_response_map_is_drawn(model: Path, clip: Path, tmp_path: Path) -> None:
    out = tmp_path / "maps"
    result = run(clip, "--model", model, "--word", "dog", "--word", "of", "--out", out)
    assert result.exit_code == 0, result.output
    assert [line.split()[0] for line in result.stdout.splitlines() if "%" in line] == ["dog", "of"]
    names = {f"talk-{word}{suffix}" for word in ("dog", "of") for suffix in (".png", ".mp4")}
    assert {path.name for path in out.iterdir()} == names
    with Image.open(out / "talk-dog.png") as sheet:
        assert sheet.format == "PNG"
    with av.open(str(out / "talk-dog.mp4")) as container:
        assert len(list(container.decode(video=0))) == 20


def test_unknown_words_and_missing_models_are_named(model: Path, clip: Path) -> None:
    result = run(clip, "--model", model, "--word", "dogg")
    assert isinstance(result.exception, ModelError)
    assert "'dogg' is not among the model's 5 words; it has dog" in str(result.exception)
    result = run(clip, "--model", model.parent / "none")
    assert "no card.json in it" in str(result.exception)


def test_a_broken_clip_is_one_line(model: Path, tmp_path: Path) -> None:
    clip = tmp_path / "none.mp4"
    finished = subprocess.run(
        [sys.executable, "-m", "densevidcap", "words", clip, "--model", model],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 1
    assert finished.stderr == f"densevidcap: {clip}: no such file or folder; check the path\n"
