"""The sample clips, made by the real script from the packages that carry their pictures."""

from __future__ import annotations

import runpy
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "make_samples.py"


def make_samples(folder: Path) -> str:
    command = [sys.executable, str(SCRIPT), str(folder)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "samples"
    make_samples(folder)
    return folder


def test_every_clip_has_its_licence(samples: Path) -> None:
    licences = (samples / "LICENCES.txt").read_text(encoding="utf-8")
    assert {path.name for path in samples.iterdir()} == {
        "bigbuckbunny.mp4",
        "bikes.mp4",
        "carphone.mp4",
        "cat.mp4",
        "coffee.mp4",
        "motorcycle.mp4",
        "rocket.mp4",
        "photos.mp4",
        "LICENCES.txt",
    }
    script = runpy.run_path(str(SCRIPT))
    for name in ("photos.mp4", *script["PANS"], *script["COPIES"], *script["PHOTOS"]):
        assert name in licences


def test_the_photos_are_filmed_with_sound(samples: Path) -> None:
    with av.open(str(samples / "photos.mp4")) as container:
        video, audio = container.streams.video[0], container.streams.audio[0]
        assert (video.codec_context.name, video.width, video.height) == ("h264", 640, 360)
        assert audio.codec_context.name == "aac"
        frames = [frame.to_ndarray(format="gray") for frame in container.decode(video)][::20]
        container.seek(0)
        loudness = max(np.abs(sound.to_ndarray()).max() for sound in container.decode(audio))
    assert len(frames) == 10
    for earlier, later in pairwise(frames):
        assert np.abs(earlier.astype(int) - later).mean() > 5, "the camera stands still"
    assert 0.01 < loudness < 0.3


def test_a_second_run_keeps_what_is_there(samples: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in samples.glob("*.mp4")}
    assert make_samples(samples) == ""
    assert {path: path.stat().st_mtime_ns for path in samples.glob("*.mp4")} == before


def test_a_missing_package_is_named_with_its_remedy() -> None:
    carried_file = runpy.run_path(str(SCRIPT))["carried_file"]
    with pytest.raises(SystemExit, match="pip install --no-deps no-such-package"):
        carried_file("no-such-package", "picture.png")
