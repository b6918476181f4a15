"""Damaged files give frames or one line that names them; `benchmarks/corruption.py` tries more."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from benchmarks.corruption import EXPECTED, MOST_MEMORY, read_all, write_damaged, write_intact
from benchmarks.seeds import write_seeds
from tests.data.made_clips import write_video

from densevidcap.data.clip import open_clip
from densevidcap.errors import ClipError


def test_damaged_files(tmp_path: Path) -> None:
    # Every other one, so that all sorts of damage are among them.
    damaged = write_damaged(tmp_path, write_intact(tmp_path))
    outcomes, memory = read_all(islice(damaged, 0, 120, 2))
    assert sum(outcomes.values()) == 60
    assert set(outcomes) == EXPECTED
    assert memory < MOST_MEMORY


def test_damaged_files_of_rarer_codecs(tmp_path: Path) -> None:
    seeds = write_seeds(tmp_path, ["ffv1", "cinepak", "png", "svq1"], ["nut", "flv", "gif", "asf"])
    assert len(seeds) == 8
    intact = [(path.name, path.read_bytes()) for path in seeds]
    outcomes, memory = read_all(islice(write_damaged(tmp_path, intact), 0, 80, 2))
    assert sum(outcomes.values()) == 40
    assert set(outcomes) == EXPECTED
    assert memory < MOST_MEMORY


def test_what_the_caller_holds_is_not_counted(tmp_path: Path) -> None:
    held = np.ones(MOST_MEMORY, np.uint8)
    outcomes, memory = read_all(islice(write_damaged(tmp_path, write_intact(tmp_path)), 1))
    assert sum(outcomes.values()) == 1
    assert set(outcomes) <= EXPECTED
    assert memory < held.nbytes


def test_stream_without_frames(tmp_path: Path) -> None:
    """A file whose header is sound and whose only stream is empty."""
    path = write_video(tmp_path / "clip.mkv", 2)
    data = path.read_bytes()
    cluster = data.index(bytes.fromhex("1F43B675"))
    path.write_bytes(data[:cluster])
    with pytest.raises(ClipError, match=r"clip\.mkv: "):
        open_clip(path).sample()
