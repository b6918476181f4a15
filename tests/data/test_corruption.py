"""Damaged files give frames or one line that names them; `benchmarks/corruption.py` tries more."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from benchmarks.corruption import EXPECTED, read_all, write_damaged
from tests.data.made_clips import write_video

from densevidcap.data.clip import open_clip
from densevidcap.errors import ClipError


def test_damaged_files(tmp_path: Path) -> None:
    # Every other one, so that all sorts of damage are among them.
    paths = list(islice(write_damaged(tmp_path), 0, 100, 2))
    outcomes = read_all(paths)
    assert sum(outcomes.values()) == 50
    assert set(outcomes) == EXPECTED


def test_stream_without_frames(tmp_path: Path) -> None:
    """A file whose header is sound and whose only stream is empty."""
    path = write_video(tmp_path / "clip.mkv", 2)
    data = path.read_bytes()
    cluster = data.index(bytes.fromhex("1F43B675"))
    path.write_bytes(data[:cluster])
    with pytest.raises(ClipError, match=r"clip\.mkv: "):
        open_clip(path).sample()
