"""The guide docs/own-data.md, followed to the letter."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from densevidcap.config_files import CONFIGS

GUIDE = (Path(__file__).parents[2] / "docs" / "own-data.md").read_text(encoding="utf-8")


def list_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def run(command: str, folder: Path) -> str:
    """What a shell prints in which this Python's programs come first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, shell=True, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True
    )
    assert done.returncode == 0, f"{command}\n{done.stderr.decode()}"
    return done.stdout.decode()


def follow(folder: Path, clips: str = "range(50)", options: str = "") -> dict[str, str]:
    """Every command of the guide after the installation, and what it prints."""
    make, use = list_blocks("python")
    (folder / "make_clips.py").write_text(make.replace("range(50)", clips))
    (folder / "use_it.py").write_text(use)
    lines = [line for block in list_blocks("sh") for line in block.splitlines()]
    commands = [line for line in lines if not line.startswith("pip ")]
    assert {line.split()[0] for line in commands} == {"python", "densevidcap"}
    return {
        line: run(f"{line} {options}" if " train " in line else line, folder)
        for line in (*commands, "python use_it.py")
    }


@pytest.fixture
def hasty(tmp_path: Path) -> Path:
    """The small config, as far as a second will do."""
    text = (CONFIGS / "small.toml").read_text()
    text = re.sub(r"^epochs = \d+", "epochs = 1", text, flags=re.MULTILINE)
    path = tmp_path / "hasty.toml"
    path.write_text(f"{text}\n[frames]\nmost = 2\n")
    return path


def test_on_six_clips_for_an_epoch(tmp_path: Path, hasty: Path) -> None:
    printed = follow(tmp_path, "range(6)", f"--config {hasty}")
    assert printed["python use_it.py"]
    # The encoder stays as it is, so only the packed copy stores it.
    model, whole = (
        json.loads((tmp_path / name / "words" / "card.json").read_text())
        for name in ("my-model", "my-model-whole")
    )
    assert model["shared_eyes"]["of"] == "default"
    assert "shared_eyes" not in whole
    # The table that the guide shows is the one that it makes.
    (shown,) = list_blocks("csv")
    assert set(shown.splitlines()) <= set((tmp_path / "mine.csv").read_text().splitlines())


@pytest.mark.slow
def test_to_the_letter(tmp_path: Path) -> None:
    follow(tmp_path)
    figures = json.loads((tmp_path / "my-model" / "card.json").read_text())["figures"]
    # Sentences of other clips get 14 to 28 in this world, where all clips are much alike.
    assert figures["CIDEr"] > 40
    assert figures["D_div"] > 0.2
