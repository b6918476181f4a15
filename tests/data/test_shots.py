"""Cuts are found, motion is not taken for one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from densevidcap.data.clip import open_clip
from densevidcap.data.sampling import Sampling
from densevidcap.data.shots import find_shots
from densevidcap.types import UInt8Array


def scene(seed: int, shift: int) -> UInt8Array:
    """(60, 80, 3): a window on a coloured landscape that the camera pans over."""
    generator = np.random.default_rng(seed)
    landscape = Image.fromarray(generator.integers(0, 255, (4, 9, 3), dtype=np.uint8))
    wide = np.array(landscape.resize((200, 60), Image.Resampling.BICUBIC))
    return wide[:, shift : shift + 80]


def write_scenes(folder: Path, lengths: list[int]) -> Path:
    folder.mkdir()
    index = 0
    for seed, length in enumerate(lengths):
        for shift in range(length):
            Image.fromarray(scene(seed, 2 * shift)).save(folder / f"{index}.png")
            index += 1
    return folder


def test_cuts_in_a_panning_film(tmp_path: Path) -> None:
    clip = open_clip(write_scenes(tmp_path / "film", [30, 20, 40]), frame_rate=10)
    starts, ends = zip(*find_shots(clip), strict=True)
    assert starts == pytest.approx([0.0, 3.0, 5.0])
    assert ends == pytest.approx([3.0, 5.0, 9.0])


def test_every_shot_is_sampled(tmp_path: Path) -> None:
    clip = open_clip(write_scenes(tmp_path / "film", [50, 8, 30]), frame_rate=10)
    times = clip.sample(Sampling("shots", 3), (8, 8)).times
    assert np.searchsorted([5.0, 5.8], times, side="right").tolist() == [0, 1, 2]


def test_one_shot(tmp_path: Path) -> None:
    pan = open_clip(write_scenes(tmp_path / "pan", [50]), frame_rate=10)
    ((start, end),) = find_shots(pan)
    assert (start, end) == pytest.approx((0.0, 5.0))
    still = open_clip(write_scenes(tmp_path / "still", [1]))
    assert find_shots(still) == [(0.0, 1.0)]
