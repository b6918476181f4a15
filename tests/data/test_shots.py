"""Cuts are found, motion is not taken for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from densevidcap.data.clip import Size, open_clip
from densevidcap.data.sampling import Sampling
from densevidcap.data.shots import (
    LEAST_CHANGE,
    NEIGHBOURS,
    OUTSTANDING,
    THUMBNAIL,
    Measured,
    _find_cuts,
    find_shots,
)
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
    assert list(find_shots(still)) == [(0.0, 1.0)]


def find_cuts_literally(changes: list[float]) -> list[int]:
    """As the constants say it, with all changes at hand."""
    cuts = [0]
    for index, change in enumerate(changes, start=1):
        first, last = max(0, index - 1 - NEIGHBOURS), index + NEIGHBOURS
        around = [*changes[first : index - 1], *changes[index:last]]
        usual = sum(around) / max(1, len(around))
        if change >= max([LEAST_CHANGE, OUTSTANDING * usual, *around]):
            cuts.append(index)
    return cuts


@given(st.lists(st.sampled_from([0.0, 0.01, 0.02, 0.09, 0.1, 0.2, 0.8]), max_size=40))
def test_cuts_stand_out_from_the_frames_around_them(changes: list[float]) -> None:
    frames = [Measured(0.0, np.inf), *(Measured(float(n), c) for n, c in enumerate(changes, 1))]
    assert list(_find_cuts(frames)) == find_cuts_literally(changes)


def test_a_shot_is_known_before_the_rest_is_decoded(tmp_path: Path) -> None:
    clip = open_clip(write_scenes(tmp_path / "film", [10, 30]), frame_rate=10)
    decoded = 0

    def count(_: Size | None = None) -> Iterator[tuple[float, UInt8Array]]:
        nonlocal decoded
        for frame in stream(THUMBNAIL):
            decoded += 1
            yield frame

    stream = clip.stream
    object.__setattr__(clip, "stream", count)
    assert next(find_shots(clip)) == (0.0, 1.0)
    assert decoded == 11 + NEIGHBOURS
