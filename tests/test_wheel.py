"""The built wheel: all that the package needs is in it, and it works with no clone beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from email.message import Message
from email.parser import Parser
from pathlib import Path
from venv import EnvBuilder
from zipfile import ZipFile

import pytest
from tests.data.made_clips import write_video

import densevidcap

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "densevidcap"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="hatchling is not installed; to do so: make test")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = (path for path in PACKAGE.rglob("*") if path.is_file())
    wanted = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in files
        if "__pycache__" not in path.parts
    }
    assert held == wanted
    for name in ("repro/definitions/table1.toml", "configs/small.toml", "py.typed"):
        assert f"densevidcap/{name}" in held


def test_the_wheel_says_what_it_is(metadata: Message) -> None:
    assert metadata["Name"] == "densevidcap"
    assert metadata["Version"] == densevidcap.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Author"] == "densevidcap contributors"
    assert metadata["Requires-Python"] == ">=3.10"
    claimed = {f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 14)}
    assert claimed <= set(metadata.get_all("Classifier", []))


def test_the_changelog_tells_of_this_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## [{densevidcap.__version__}] - " in changes


@pytest.mark.slow
def test_the_wheel_alone_captions_a_clip(wheel: Path, tmp_path: Path) -> None:
    """In an environment that has our dependencies, but neither this clone nor its own install."""
    environment = tmp_path / "env"
    EnvBuilder(with_pip=True).create(environment)
    (site,) = environment.glob("lib/python*/site-packages")
    # Only a path: the .pth files in there, such as that of an editable install, are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*command: str) -> str:
        program, *arguments = command
        line = [str(environment / "bin" / program), *arguments]
        done = subprocess.run(line, cwd=tmp_path, env=outside, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("pip", "install", "--no-deps", "--no-index", str(wheel))
    where = run("python", "-c", "import densevidcap; print(densevidcap.__file__)")
    assert Path(where.strip()).is_relative_to(site)
    write_video(tmp_path / "clip.mp4", 20)
    # "--raw", since of painted squares the model would rather say nothing.
    options = ["--raw", "-k", "2", "--format", "json", "--out", "said"]
    said = run("densevidcap", "caption", "clip.mp4", *options)
    assert "clip.mp4" in said
    (written,) = (tmp_path / "said").glob("*.json")
    assert json.loads(written.read_text(encoding="utf-8"))["captions"]
    program = (
        "from densevidcap.repro.definition import DEFINITIONS, Experiment;"
        "print(Experiment.read(DEFINITIONS / 'table1.toml').name)"
    )
    assert run("python", "-c", program) == "table1\n"
