"""Images: still, in folders, in shards."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tests.data.made_clips import encode_picture, paint, write_folder, write_shard

from densevidcap.data.clip import open_clip
from densevidcap.data.limits import Limits
from densevidcap.data.pictures import natural_order
from densevidcap.data.shards import open_shard, split_name
from densevidcap.errors import ClipError


def test_exif_orientation_is_applied(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned a quarter clockwise
    path = tmp_path / "still.jpg"
    Image.fromarray(paint(0, 1)).save(path, exif=exif)
    clip = open_clip(path)
    assert (clip.info.width, clip.info.height) == (48, 64)
    _, image = next(clip.stream())
    red, _, blue = image[2, -3].astype(int)
    assert red - blue > 150


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1"])
def test_any_mode_becomes_rgb(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "still.tif"
    Image.new("RGB", (5, 4), "white").convert(mode).save(path)
    assert (open_clip(path).sample(size=(8, 8)).images == 255).all()


def test_folder_rate_and_order(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "clip", 12)
    (folder / "notes.txt").write_text("not a frame")
    (folder / "._frame0.png").write_bytes(b"not a frame either")
    clip = open_clip(folder, frame_rate=4)
    assert clip.times().tolist() == [index / 4 for index in range(12)]
    assert clip.info.frame_rate == 4
    levels = [image.mean() for _, image in clip.stream()]
    assert levels == sorted(levels)


def test_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(ClipError, match="holds no frames"):
        open_clip(tmp_path)


def test_broken_frame_of_a_folder_is_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "clip", 3)
    (folder / "frame1.png").write_bytes(b"broken")
    with pytest.raises(ClipError, match=r"picture 1.*cannot be read as an image"):
        open_clip(folder).sample()


@given(st.lists(st.integers(0, 10**6), unique=True))
def test_numbers_in_names_sort_as_numbers(numbers: list[int]) -> None:
    names = [f"frame{number}.PNG" for number in numbers]
    assert sorted(names, key=natural_order) == [f"frame{number}.PNG" for number in sorted(numbers)]


def test_digits_of_all_scripts_can_be_sorted() -> None:
    names = ["a1x2.mp4", "a1\u06632.mp4", "a10.mp4", "\u0663.mp4"]
    assert sorted(names, key=natural_order) == names


def test_animated_images_say_so(tmp_path: Path) -> None:
    path = tmp_path / "clip.webp"
    first, second = (Image.fromarray(paint(index, 2)) for index in range(2))
    first.save(path, save_all=True, append_images=[second], duration=100)
    with pytest.raises(ClipError, match="has several images"):
        open_clip(path).sample()


def test_image_limits(tmp_path: Path) -> None:
    path = tmp_path / "still.png"
    Image.fromarray(paint(0, 1)).save(path)
    with pytest.raises(ClipError, match="max_image_bytes"):
        open_clip(path, limits=Limits(max_image_bytes=10)).sample()


def test_decompression_bomb(tmp_path: Path) -> None:
    path = tmp_path / "bomb.png"
    Image.new("1", (20_000, 20_000)).save(path)
    with pytest.raises(ClipError, match=r"bomb\.png"):
        open_clip(path).sample()


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("video1.00.webp", ("video1", "00.webp")),
        ("a.b/video1.json", ("a.b/video1", "json")),
        ("plain", ("plain", "")),
    ],
)
def test_webdataset_names(name: str, parts: tuple[str, str]) -> None:
    assert split_name(name) == parts


def shard_of(path: Path, members: int) -> Path:
    files = {}
    for member in range(members):
        for frame in range(2):
            picture = np.full((8, 8, 3), member, np.uint8)
            files[f"video{member}.{frame:02}.webp"] = encode_picture(picture)
        files[f"video{member}.json"] = f'{{"video": {member}}}'.encode()
    return write_shard(path, files)


def test_members_read_from_many_threads(tmp_path: Path) -> None:
    path = shard_of(tmp_path / "shard.tar", 100)

    def first_pixel(member: int) -> int:
        return int(open_clip(f"{path}::video{member}").sample(size=(8, 8)).images[0, 0, 0, 0])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(first_pixel, range(100))) == list(range(100))
    # Asking again gives the very same index, not another reading of the file.
    assert open_shard(path) is open_shard(path)


def test_shard_keeps_what_stands_beside_the_frames(tmp_path: Path) -> None:
    shard = open_shard(shard_of(tmp_path / "shard.tar", 2))
    assert list(shard.members) == ["video0", "video1"]
    assert shard.read("video1", "json") == b'{"video": 1}'
    with pytest.raises(ClipError, match=r"has no video1\.txt"):
        shard.read("video1", "txt")


def test_changed_shard_is_read_anew(tmp_path: Path) -> None:
    path = shard_of(tmp_path / "shard.tar", 1)
    assert list(open_shard(path).members) == ["video0"]
    shard_of(path, 3)
    os.utime(path, ns=(1, 1))
    assert len(open_shard(path).members) == 3


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("shard.tar", "name one of its clips"),
        ("shard.tar::nobody", "no such member"),
        ("text.tar::key", "cannot be read as a tar shard"),
        ("bare.tar::notes", "neither a video nor images"),
    ],
)
def test_shard_errors(tmp_path: Path, source: str, message: str) -> None:
    shard_of(tmp_path / "shard.tar", 1)
    write_shard(tmp_path / "bare.tar", {"notes.txt": b"no clip"})
    (tmp_path / "text.tar").write_text("not a tar file" * 100)
    with pytest.raises(ClipError, match=message):
        open_clip(f"{tmp_path}/{source}")


def test_truncated_shard(tmp_path: Path) -> None:
    path = write_shard(tmp_path / "shard.tar", {"a.png": encode_picture(paint(0, 1, (300, 300)))})
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(ClipError, match=r"shard\.tar"):
        open_clip(f"{path}::a").sample()
