"""What every kind of clip promises, whatever it is stored as."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.data.made_clips import (
    SIZE,
    encode_picture,
    paint,
    write_folder,
    write_gif,
    write_shard,
    write_video,
)

from densevidcap.data.clip import Clip, open_clip
from densevidcap.data.limits import Limits
from densevidcap.data.sampling import Sampling
from densevidcap.errors import ClipError


@dataclass(frozen=True)
class Kind:
    """How to make a clip, and what is to be found in it."""

    make: Callable[[Path], Path | str]
    count: int
    frame_rate: float | None


def make_still(folder: Path) -> Path:
    path = folder / "still.png"
    Image.fromarray(paint(0, 1)).save(path)
    return path


def make_picture_member(folder: Path) -> str:
    files = {"other.00.png": encode_picture(paint(0, 1)), "other.json": b"{}"}
    files |= {f"clip.{index:02}.png": encode_picture(paint(index, 12)) for index in range(12)}
    return f"{write_shard(folder / 'shard.tar', files)}::clip"


def make_video_member(folder: Path) -> str:
    video = write_video(folder / "clip.mp4").read_bytes()
    shard = write_shard(folder / "shard.tar", {"a.json": b"{}", "a.mp4": video, "b.json": b"{}"})
    return f"{shard}::a"


KINDS = {
    "video": Kind(lambda folder: write_video(folder / "clip.mp4"), 40, 10),
    "gif": Kind(lambda folder: write_gif(folder / "clip.gif"), 12, 10),
    "folder": Kind(lambda folder: write_folder(folder / "clip"), 12, 1),
    "still": Kind(make_still, 1, None),
    "shard of pictures": Kind(make_picture_member, 12, 1),
    "shard of videos": Kind(make_video_member, 40, 10),
}
STRATEGIES = [
    Sampling("uniform", 7),
    Sampling("jittered", 7, seed=1),
    Sampling("random", 7, seed=1),
    Sampling("shots", 7),
]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def clip(kind: Kind, tmp_path: Path) -> Clip:
    return open_clip(kind.make(tmp_path))


def test_info_is_measured(clip: Clip, kind: Kind) -> None:
    info = clip.info
    assert (info.width, info.height) == SIZE
    assert info.frame_count == kind.count
    assert info.frame_rate == pytest.approx(kind.frame_rate)
    expected = kind.frame_rate and kind.count / kind.frame_rate
    assert info.duration == pytest.approx(expected)
    assert not info.has_sound


def test_stream_gives_every_frame_in_order(clip: Clip, kind: Kind) -> None:
    seconds, images = zip(*clip.stream(), strict=True)
    assert list(seconds) == clip.times().tolist()
    assert seconds == pytest.approx([i / (kind.frame_rate or 1) for i in range(kind.count)])
    for index, image in enumerate(images):
        original = paint(index, kind.count).astype(float)
        assert np.abs(image - original).mean() < 4


@pytest.mark.parametrize("sampling", STRATEGIES, ids=lambda sampling: sampling.strategy)
def test_samples_are_frames_of_the_stream(clip: Clip, kind: Kind, sampling: Sampling) -> None:
    size = (40, 32)
    frames = clip.sample(sampling, size)
    assert frames.images.shape == (min(7, kind.count), 32, 40, 3)
    assert (np.diff(frames.times) > 0).all()
    streamed = dict(clip.stream(size))
    for seconds, image in zip(frames.times.tolist(), frames.images, strict=True):
        np.testing.assert_array_equal(image, streamed[seconds])


def test_default_is_thirty_frames_of_320(clip: Clip, kind: Kind) -> None:
    assert clip.sample().images.shape == (min(30, kind.count), 320, 320, 3)


def test_same_picture_gives_nearly_same_pixels(clip: Clip, kind: Kind) -> None:
    image = clip.sample(Sampling(frames=1), (24, 24)).images[0]
    index = kind.count // 2
    ideal = np.array(Image.fromarray(paint(index, kind.count)).resize((24, 24)))
    assert np.abs(image - ideal.astype(float)).mean() < 4


def test_survives_pickling(clip: Clip) -> None:
    again = pickle.loads(pickle.dumps(clip))
    sampling = Sampling(frames=3)
    np.testing.assert_array_equal(again.sample(sampling).images, clip.sample(sampling).images)


def test_nothing_to_hear(clip: Clip) -> None:
    assert clip.sound() is None


@pytest.mark.parametrize("limit", ["max_frame_bytes", "max_frames"])
def test_limits_name_the_clip_and_the_limit(kind: Kind, tmp_path: Path, limit: str) -> None:
    source = kind.make(tmp_path)
    allowed = {"max_frame_bytes": 4 * 64 * 48 - 1, "max_frames": kind.count - 1}[limit]
    with pytest.raises(ClipError, match=limit) as caught:
        open_clip(source, limits=Limits(**{limit: allowed})).sample()
    assert str(source) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ClipError, match=r"missing\.mp4: no such file"):
        open_clip(tmp_path / "missing.mp4")
    with pytest.raises(ClipError, match=r"missing\.tar::key: no such file"):
        open_clip(f"{tmp_path}/missing.tar::key")
