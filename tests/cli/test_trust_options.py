"""Silence, the knob, the raw and the fast view, on the real command line with the bundled model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from densevidcap.cli import root
from densevidcap.export.formats import FORMATS
from densevidcap.pipeline.captioner import FAST

SIZE = 96


def run(*arguments: object) -> Result:
    return CliRunner().invoke(root, [str(each) for each in arguments])


def write_pictures(folder: Path, pictures: list[Any]) -> Path:
    folder.mkdir()
    for number, picture in enumerate(pictures):
        Image.fromarray(np.asarray(picture, np.uint8)).save(folder / f"{number}.png")
    return folder


def caption(*arguments: object) -> list[dict[str, Any]]:
    done = run("caption", *map(str, arguments), "--json")
    assert done.exit_code == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


@pytest.fixture
def patterns(tmp_path: Path) -> list[Path]:
    random = np.random.default_rng(0)
    columns = np.arange(SIZE)[None, :, None]
    stripes = np.broadcast_to(columns // 8 % 2 * 255, (SIZE, SIZE, 3))
    return [
        write_pictures(tmp_path / "black", [np.zeros((SIZE, SIZE, 3))] * 2),
        write_pictures(tmp_path / "noise", [*random.integers(0, 256, (2, SIZE, SIZE, 3))]),
        write_pictures(tmp_path / "stripes", [stripes] * 2),
    ]


def test_of_what_is_like_nothing_nothing_is_said(patterns: list[Path]) -> None:
    for result in caption(*patterns):
        assert result["captions"] == []
        assert result["silent"] == [[0.0, result["duration"]]]
    shown = run("caption", str(patterns[0]))
    assert shown.exit_code == 0
    assert "nothing to say" in shown.stdout
    (asked,) = caption(patterns[0], "--set", "selection.silence=false")
    assert asked["captions"]
    assert "silent" not in asked


@pytest.mark.parametrize("kind", [*FORMATS])
def test_every_format_can_be_silent(patterns: list[Path], tmp_path: Path, kind: str) -> None:
    done = run("caption", str(patterns[0]), "--format", kind, "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    assert [*(tmp_path / "out").iterdir()]


def test_from_many_and_different_to_few_and_sure(photos: Path) -> None:
    spoken = "--set", "selection.silence=false"
    (everything,) = caption(photos, "-k", "10", "--sure", "0", *spoken)
    said = everything["captions"]
    assert len(said) == 10
    middle = sorted(each["confidence"] for each in said)[5]
    (fewer,) = caption(photos, "-k", "10", "--sure", str(middle), *spoken)
    assert all(each["confidence"] >= middle - 1e-6 for each in fewer["captions"])
    (one,) = caption(photos, "-k", "10", "--sure", "1", *spoken)
    assert len(one["captions"]) == 1
    for each in said:
        assert each["text"][0].isupper()
        assert each["text"].endswith(".")
    (raw,) = caption(photos, "-k", "10", "--raw")
    assert len(raw["captions"]) == 10
    assert all(each["text"] == each["text"].lower() for each in raw["captions"])


def test_fast_is_fewer_frames_and_sentences_and_says_so(photos: Path) -> None:
    (usual,), (fast,) = caption(photos), caption(photos, "--fast")
    assert "settings" not in usual
    assert fast["settings"] == dict(FAST)
    (mixed,) = caption(photos, "--fast", "--frames", "2", "--set", "decoding.samples=3")
    assert mixed["settings"] == {**FAST, "frames.most": 2, "decoding.samples": 3}
    assert all(len(each["boxes"]) <= 2 for each in mixed["captions"])


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A sky over grass with a dark thing on it: not a photograph, but no pattern either."""
    random = np.random.default_rng(0)
    rows, columns = np.mgrid[:SIZE, :SIZE] / SIZE
    pictures = []
    for number in range(3):
        picture = np.where(rows[..., None] < 0.5, [120, 170, 230], [60, 130, 40]).astype(float)
        picture += random.normal(0, 12, picture.shape) * (rows[..., None] + 0.2)
        thing = (columns - 0.3 - 0.1 * number) ** 2 + (rows - 0.6) ** 2 < 0.03
        picture[thing] = random.normal((70, 50, 40), 15, (int(thing.sum()), 3))
        pictures.append(picture.clip(0, 255))
    return write_pictures(tmp_path / "photos", pictures)
