import pickle
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import pytest

from densevidcap.data.feature_files import LARGEST_CLIP, FeatureFile, open_features
from densevidcap.errors import CorpusError

KINDS = ["hdf5", "npy"]


def write_features(path: Path, kind: str, **arrays: Any) -> FeatureFile:
    if kind == "npy":
        path.mkdir()
        for clip_id, array in arrays.items():
            np.save(path / f"{clip_id}.npy", array)
    else:
        with h5py.File(path, "w") as file:
            for clip_id, array in arrays.items():
                file[clip_id] = array
    return open_features(path)


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_come_back_as_float32(tmp_path: Path, kind: str) -> None:
    random = np.random.default_rng(0)
    arrays: dict[str, npt.NDArray[Any]] = {
        "global": random.normal(size=(5, 8)),
        "regions": random.normal(size=(5, 16, 8)).astype(np.float16),
        "counts": random.integers(0, 9, size=(2, 8)),
    }
    features = write_features(tmp_path / "features", kind, **arrays)
    assert list(features) == sorted(arrays)
    assert len(features) == 3
    assert "global" in features
    for clip_id, array in arrays.items():
        assert features[clip_id].dtype == np.float32
        np.testing.assert_array_equal(features[clip_id], array.astype(np.float32))


@pytest.mark.parametrize("kind", KINDS)
def test_it_can_be_handed_to_a_worker(tmp_path: Path, kind: str) -> None:
    features = write_features(tmp_path / "features", kind, clip=np.ones((2, 3)))
    copy: FeatureFile = pickle.loads(pickle.dumps(features))
    np.testing.assert_array_equal(copy["clip"], features["clip"])


@pytest.mark.parametrize("kind", KINDS)
def test_missing_clips_are_named_together(tmp_path: Path, kind: str) -> None:
    features = write_features(tmp_path / "features", kind, clip=np.ones((2, 3)))
    features.require(["clip"])
    with pytest.raises(CorpusError, match="features: no features of cat, dog among its 1 clips"):
        features.require(["cat", "clip", "dog"])
    with pytest.raises(CorpusError, match="no features of cat"):
        features["cat"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("array", "complaint"),
    [
        (np.ones(8), r"shape is \(8,\), not \(T, D\) or \(T, R, D\)"),
        (np.ones((1, 2, 3, 4)), "shape is"),
        (np.ones((0, 8)), "shape is"),
        (np.ones((2, 3), dtype=complex), "not numbers"),
        (np.array([[1.0, np.nan]]), "not finite"),
        (np.array([[1.0, 1e300]]), "not finite"),
    ],
)
def test_unusable_arrays_are_named(tmp_path: Path, kind: str, array: Any, complaint: str) -> None:
    features = write_features(tmp_path / "features", kind, clip=array)
    with pytest.raises(CorpusError, match=rf"features: clip 'clip': .*{complaint}"):
        features["clip"]


def test_a_promised_size_is_not_believed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("clip", shape=(LARGEST_CLIP, 8), dtype="f4", chunks=(1, 8))
    assert (tmp_path / "f.h5").stat().st_size < 1e6
    with pytest.raises(CorpusError, match="bytes are more than"):
        open_features(tmp_path / "f.h5")["clip"]


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "clip.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(CorpusError, match="clip 'clip'"):
        open_features(tmp_path)["clip"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no features here"):
        open_features(tmp_path)
    with pytest.raises(CorpusError, match="no such file or folder"):
        open_features(tmp_path / "absent.h5")
    (tmp_path / "text.h5").write_text("not HDF5")
    with pytest.raises(CorpusError, match=r"text\.h5: not an HDF5 file"):
        open_features(tmp_path / "text.h5")
