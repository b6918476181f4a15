"""Files that are written as a whole or not at all, and folders that one process has for itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from tests.limited_disk import limited_files

from densevidcap.errors import DenseVidCapError, OutputError
from densevidcap.files import LOCK, WORKSPACE, hold, replacing, workspace

HOLDER = """
import sys
from pathlib import Path
from densevidcap.errors import DenseVidCapError
from densevidcap.files import hold
with hold(Path(sys.argv[1]), DenseVidCapError("taken")):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_replacing_is_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    with replacing(path) as temporary:
        temporary.write_text("old")

    def fail_halfway() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half of the n")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("linking", [True, False])
def test_somebody_who_was_faster_is_not_replaced_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linking: bool
) -> None:
    if not linking:  # as on file systems that know no hard links
        monkeypatch.setattr(os, "link", lambda *_: Path("no/such/file").stat())
    path = tmp_path / "file.txt"
    with replacing(path, overwrite=False) as temporary:
        temporary.write_text("first")

    def write_meanwhile() -> None:
        with replacing(path, overwrite=False) as temporary:
            temporary.write_text("second")

    with pytest.raises(OutputError, match=r"file\.txt: stands there already; give --overwrite"):
        write_meanwhile()
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_two_workspaces_in_one_folder_are_strangers(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with workspace(tmp_path) as one, workspace(tmp_path) as other:
        assert one != other
        assert one.parent == other.parent == tmp_path
        (one / "film").touch()
        assert not list(other.iterdir())
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("kind", ["bytes", "tensors"])
def test_a_full_disk_is_told_and_what_stood_there_stays(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fill() -> None:
        with limited_files(1000), replacing(path) as temporary:
            if kind == "bytes":
                temporary.write_bytes(bytes(5000))
            else:
                save_file({"zeros": np.zeros(5000)}, temporary)

    with pytest.raises(OutputError, match=r"file: cannot be written \(File too large\); make room"):
        fill()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_is_no_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    def write_below() -> None:
        with replacing(tmp_path / "file" / "below") as temporary:
            temporary.touch()

    with pytest.raises(OutputError, match=r"file/below: cannot be written .* choose another place"):
        write_below()


def test_faults_of_reading_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "out"):
        (tmp_path / "none").read_text()


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    refusal = DenseVidCapError("taken")
    left = tmp_path / f"{WORKSPACE}abc"
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        left.mkdir()
        (left / "checkpoint").touch()
        with pytest.raises(DenseVidCapError, match="taken"), hold(tmp_path, refusal):
            pass
        assert left.exists()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with hold(tmp_path, refusal):
        # What the killed one was writing.
        assert not left.exists()
    with hold(tmp_path, refusal):
        pass


def test_a_folder_that_cannot_be_locked_is_named(tmp_path: Path) -> None:
    (tmp_path / LOCK).mkdir()
    with (
        pytest.raises(OutputError, match=rf"{LOCK}: cannot be written"),
        hold(tmp_path, DenseVidCapError("taken")),
    ):
        pass
