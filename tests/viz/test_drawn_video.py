"""Videos of drawn pictures."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from densevidcap.viz.video import LARGEST, SMALLEST, fit_video, write_video


@given(st.tuples(st.integers(1, 8000), st.integers(1, 8000)))
def test_sizes_are_even_within_limits_and_keep_the_shape(shape: tuple[int, int]) -> None:
    size = fit_video(shape)
    assert all(side % 2 == 0 and side >= 2 for side in size)
    assert SMALLEST - 2 <= max(size) <= LARGEST
    scale = max(size) / max(shape)
    assert all(abs(side - scale * own) <= 2 for side, own in zip(size, shape, strict=True))


def test_each_picture_keeps_its_time(tmp_path: Path) -> None:
    times = [0.0, 1 / 30, 1001 / 30000 * 2, 0.5, 0.5, 2.25]
    pictures = ((at, Image.new("RGB", (64, 32), (40 * n, 0, 0))) for n, at in enumerate(times))
    counted: list[None] = []
    write_video(tmp_path / "out" / "a.mp4", pictures, (64, 32), 2.35, lambda: counted.append(None))
    with av.open(str(tmp_path / "out" / "a.mp4")) as container:
        frames = list(container.decode(video=0))
    np.testing.assert_allclose([frame.time for frame in frames], times, atol=1e-4)
    assert len(counted) == len(times)
    reds = [frame.to_ndarray(format="rgb24")[..., 0].mean() for frame in frames]
    assert reds == sorted(reds)


@pytest.mark.parametrize("count", [1, 3])
def test_the_last_picture_stays_until_the_end(tmp_path: Path, count: int) -> None:
    pictures = [(float(n), Image.new("RGB", (64, 32), (80 * n, 0, 0))) for n in range(count)]
    counted: list[None] = []
    write_video(tmp_path / "a.mp4", pictures, (64, 32), count, lambda: counted.append(None))
    with av.open(str(tmp_path / "a.mp4")) as container:
        *_, before, last = container.decode(video=0)
        assert container.duration is not None
        assert container.duration / av.time_base == pytest.approx(count, abs=0.01)
    assert before.time == count - 1
    reds = [each.to_ndarray(format="rgb24")[..., 0].mean() for each in (before, last)]
    assert reds[0] == pytest.approx(reds[1], abs=1)
    assert len(counted) == count
