"""Clips that are features: what is read of them, and what is refused in one line."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.made_clips import write_video
from tests.data.made_features import Kind, write_features

from densevidcap.config import FramesConfig
from densevidcap.data.clip import Clip, open_clip
from densevidcap.data.feature_files import LARGEST, FeatureClip, find_features, is_features
from densevidcap.data.limits import Limits
from densevidcap.data.sampling import Sampling
from densevidcap.data.shots import cut, sample_segment
from densevidcap.errors import ClipError, CorpusError, MissingExtraError
from densevidcap.types import MapShape

KINDS = get_args(Kind)
EVERY = pytest.mark.parametrize("kind", KINDS)


def open_array(folder: Path, kind: Kind, array: Any) -> FeatureClip:
    place = write_features(folder, kind, {"clip": array})
    clip = open_clip(place / "clip.npy" if kind == "npy" else f"{place}::clip")
    assert isinstance(clip, FeatureClip)
    return clip


def read_all(clip: FeatureClip) -> Any:
    return clip.sample(Sampling(frames=10_000), clip.map).images


@EVERY
@pytest.mark.parametrize(
    ("shape", "seen"),
    [
        ((5, 8), (1, 1)),
        ((5, 1, 8), (1, 1)),
        ((5, 16, 8), (4, 4)),
        ((5, 6, 8), (1, 6)),
        ((5, 2, 3, 8), (2, 3)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, np.int32])
def test_an_array_is_a_clip(
    tmp_path: Path, kind: Kind, shape: tuple[int, ...], seen: tuple[int, int], dtype: Any
) -> None:
    array = np.random.default_rng(0).normal(0, 9, shape).astype(dtype)
    clip = open_array(tmp_path, kind, array)
    assert clip.map == MapShape(*seen, 8)
    assert not clip.has_pictures
    assert clip.times().tolist() == [0, 1, 2, 3, 4]
    assert (clip.info.width, clip.info.height, clip.info.frame_count) == (0, 0, 5)
    frames = clip.sample(Sampling(frames=5), clip.map)
    assert frames.images.dtype == np.float32
    np.testing.assert_array_equal(frames.images.reshape(shape), array.astype(np.float32))
    copy: Clip = pickle.loads(pickle.dumps(clip))
    np.testing.assert_array_equal(copy.sample(Sampling(), clip.map).images, frames.images)


def test_columns_first_are_read_as_they_are_meant(tmp_path: Path) -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save(tmp_path / "clip.npy", np.asfortranarray(array))
    clip = open_clip(tmp_path / "clip.npy")
    assert isinstance(clip, FeatureClip)
    np.testing.assert_array_equal(read_all(clip).reshape(3, 4), array)


@given(
    st.integers(1, 40),
    st.integers(1, 50),
    st.sampled_from(["uniform", "jittered", "random"]),
    st.sampled_from(KINDS),
)
def test_frames_are_chosen_as_those_of_films_are(
    count: int, most: int, strategy: Literal["uniform", "jittered", "random"], kind: Kind
) -> None:
    with TemporaryDirectory() as folder:
        clip = open_array(Path(folder), kind, np.arange(count, dtype=np.float32)[:, None])
        sampling = Sampling(strategy, most)
        frames = clip.sample(sampling, clip.map)
        chosen = sampling.choose(clip.times())
    assert frames.images.ravel().tolist() == chosen.tolist() == frames.times.tolist()
    assert frames.source_frames is not None
    assert frames.source_frames.tolist() == chosen.tolist()


@EVERY
def test_a_long_clip_is_one_segment(tmp_path: Path, kind: Kind) -> None:
    clip = open_array(tmp_path, kind, np.ones((200, 3)))
    assert list(cut(clip, FramesConfig())) == [(0.0, 200.0)]
    frames = sample_segment(clip, (0.0, 200.0), FramesConfig(most=7), clip.map)
    assert frames is not None
    assert len(frames) == 7
    with pytest.raises(ClipError, match="holds features and no pictures; finding shots needs the"):
        next(cut(clip, FramesConfig(per_shot="always")))


@EVERY
@pytest.mark.parametrize(
    ("array", "complaint"),
    [
        (np.ones(8), r"its shape is \(8,\), not \(T, D\), \(T, R, D\) or"),
        (np.ones((1, 2, 3, 4, 5)), "its shape is"),
        (np.ones((0, 8)), r"its shape is \(0, 8\)"),
        (np.ones((2, 3), dtype=complex), "its values are complex128, not numbers"),
        (np.array([[b"a", b"b"]]), "not numbers"),
        (np.array([[1.0, np.nan]]), r"some values are not finite \(NaN or infinite\)"),
        (np.array([[1.0, 1e300]]), "some values are not finite"),
        (np.array([[1.0, -7e4]]), "values reach 70,000, and 65,504 is the most; divide"),
    ],
)
def test_what_cannot_be_used_is_named(
    tmp_path: Path, kind: Kind, array: Any, complaint: str
) -> None:
    with pytest.raises(ClipError, match=complaint) as caught:
        read_all(open_array(tmp_path, kind, array))
    assert str(caught.value).startswith(str(tmp_path))
    assert "; " in str(caught.value)
    assert "\n" not in str(caught.value)


@EVERY
def test_the_largest_value_is_kept(tmp_path: Path, kind: Kind) -> None:
    images = read_all(open_array(tmp_path, kind, np.array([[LARGEST, -LARGEST]])))
    assert np.isfinite(images.astype(np.float16)).all()


@EVERY
def test_a_wrong_width_names_both(tmp_path: Path, kind: Kind) -> None:
    clip = open_array(tmp_path, kind, np.ones((2, 512)))
    message = "clip.*: a frame has 512 features, but the model sees 4,096 features; extract its"
    with pytest.raises(ClipError, match=message):
        clip.sample(size=MapShape(1, 1, 4096))
    with pytest.raises(ClipError, match="but the model sees 2 x 2 regions of 512 features"):
        clip.sample(size=MapShape(2, 2, 512))


@EVERY
def test_features_are_no_pictures_and_pictures_no_features(tmp_path: Path, kind: Kind) -> None:
    clip = open_array(tmp_path, kind, np.ones((2, 3)))
    with pytest.raises(ClipError, match="holds features and no pictures, which are needed here"):
        clip.sample()
    for read in (clip.stream, lambda: clip.pick([0])):
        with pytest.raises(ClipError, match="holds features and no pictures; this needs the video"):
            next(iter(read()))
    film = open_clip(write_video(tmp_path / "film.mp4", 3))
    film.require_pictures("drawing")
    with pytest.raises(ClipError, match=r"film\.mp4: has pictures, but the model sees features"):
        film.sample(size=clip.map)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "ran"),)

    np.save(tmp_path / "array.npy", np.array([[Bomb()]], dtype=object), allow_pickle=True)
    (tmp_path / "pickle.npy").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ClipError, match=r"array\.npy: holds Python objects, which are never read"):
        open_clip(tmp_path / "array.npy").times()
    with pytest.raises(ClipError, match=r"pickle\.npy: the magic string is not correct"):
        open_clip(tmp_path / "pickle.npy").times()
    assert not (tmp_path / "ran").exists()


@given(st.integers(0, 10_000))
def test_a_file_that_is_cut_off_is_named(keep: int) -> None:
    """Wherever it ends, and before anything of it is taken for numbers."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "clip.npy"
        np.save(path, np.ones((20, 30), np.float32))
        whole = path.read_bytes()
        path.write_bytes(whole[: min(keep, len(whole) - 1)])
        with pytest.raises(ClipError) as caught:
            open_clip(path).times()
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)


def test_a_cut_off_hdf5_file_is_named(tmp_path: Path) -> None:
    place = write_features(tmp_path, "h5", {"clip": np.ones((200, 300), np.float32)})
    place.write_bytes(place.read_bytes()[:-100_000])
    with pytest.raises(ClipError, match=r"features\.h5: cannot be read as HDF5 \(.*truncated"):
        open_clip(f"{place}::clip").times()


def test_keys_of_hdf5(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["secret"] = np.ones((2, 3))
    (tmp_path / "raw.bin").write_bytes(bytes(24))
    place = tmp_path / "f.h5"
    with h5py.File(place, "w") as file:
        file["mine"] = np.ones((2, 3))
        file["train/deep"] = np.ones((2, 3))
        file["linked"] = h5py.ExternalLink("other.h5", "secret")
        file["far"] = h5py.ExternalLink("other.h5", "/")
        file.create_dataset("raw", (2, 3), "f4", external=[(str(tmp_path / "raw.bin"), 0, 24)])
    assert open_clip(f"{place}::mine").times().tolist() == [0, 1]
    assert open_clip(f"{place}::train/deep").times().tolist() == [0, 1]
    faults = {
        "none": r"f\.h5::none: has no 'none' among its 5 names; extract",
        "train": "'train' is a group and no array",
        "mine/none": "has no 'mine/none'",
        "linked": "'linked' leads elsewhere, which is not followed",
        "far/secret": "'far/secret' leads elsewhere, which is not followed",
        "raw": "its numbers are in another file, which is not read",
    }
    for key, fault in faults.items():
        with pytest.raises(ClipError, match=fault):
            open_clip(f"{place}::{key}").times()
    with pytest.raises(ClipError, match=r"f\.h5: holds many clips; name one of them: .*f\.h5::KEY"):
        open_clip(place)
    assert find_features(place) == {"mine": f"{place}::mine", "raw": f"{place}::raw"}


def test_a_promised_size_is_not_believed(tmp_path: Path) -> None:
    place = tmp_path / "f.h5"
    with h5py.File(place, "w") as file:
        file.create_dataset("clip", shape=(10**6, 4096), dtype="f4", chunks=(1, 8))
    assert place.stat().st_size < 1e6
    with pytest.raises(ClipError, match="over max_feature_bytes = 1,073,741,824"):
        open_clip(f"{place}::clip").times()
    np.save(tmp_path / "clip.npy", np.ones((3, 4)))
    with pytest.raises(ClipError, match="over max_frames = 2"):
        open_clip(tmp_path / "clip.npy", limits=Limits(max_frames=2)).times()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "clip.npy")
    with pytest.raises(ClipError, match="pipe, socket or device"):
        open_clip(tmp_path / "clip.npy").times()


def test_places_without_features_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no features here"):
        find_features(tmp_path)
    with pytest.raises(CorpusError, match="no such file or folder"):
        find_features(tmp_path / "absent.h5")
    (tmp_path / "text.h5").write_text("not HDF5")
    with pytest.raises(ClipError, match=r"text\.h5: cannot be read as HDF5"):
        find_features(tmp_path / "text.h5")
    with pytest.raises(ClipError, match=r"absent\.npy: no such file or folder"):
        open_clip(tmp_path / "absent.npy")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a/clip.npy", True),
        ("a/f.h5::clip", True),
        ("f.HDF5::train/clip", True),
        ("shard.tar::clip.npy", False),
        ("clip.mp4", False),
        ("f.h5", False),
        (None, False),
    ],
)
def test_sources_tell_by_their_names(source: str | None, expected: bool) -> None:
    assert is_features(source) is expected


def test_hdf5_without_its_package_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = write_features(tmp_path, "h5", {"clip": np.ones((2, 3), np.float32)})
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r"features\.h5: .* 'densevidcap\[hdf5\]'"):
        open_clip(f"{place}::clip").times()
