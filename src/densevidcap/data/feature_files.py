"""Features that others extracted: an HDF5 file or a folder of .npy files, one array a clip."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from densevidcap.data.manifest import name_some
from densevidcap.errors import CorpusError, MissingExtraError
from densevidcap.types import FloatArray

LARGEST_CLIP = 2**30
"""Bytes. A file's header can promise any size; beyond this we do not believe it."""


class FeatureFile(ABC):
    """Clip id to features, (T, D) or (T, R, D).

    No file stays open between reads, so it can be handed to worker processes.
    """

    def __init__(self, path: Path, ids: Iterable[str]) -> None:
        self.path = path
        self._ids = frozenset(ids)
        if not self._ids:
            raise CorpusError(
                f"{path}: no features here; one array a clip, named by its id, is needed"
            )

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._ids))

    def __contains__(self, clip_id: object) -> bool:
        return clip_id in self._ids

    def __getitem__(self, clip_id: str) -> FloatArray:
        self.require([clip_id])
        try:
            return self._read(clip_id)
        except (OSError, ValueError) as error:
            raise CorpusError(
                f"{self.path}: clip '{clip_id}': {error}; extract its features again"
            ) from error

    def require(self, clip_ids: Iterable[str]) -> None:
        """Fail now, naming all clips that have no features, instead of hours into training."""
        missing = [clip_id for clip_id in clip_ids if clip_id not in self._ids]
        if missing:
            raise CorpusError(
                f"{self.path}: no features of {name_some(missing)} among its {len(self):,} clips; "
                "extract them, or leave these clips out of the manifest"
            )

    @abstractmethod
    def _read(self, clip_id: str) -> FloatArray:
        """A known clip's array; OSError or ValueError if it cannot be used."""


class Hdf5Features(FeatureFile):
    """An HDF5 file with one dataset a clip at its root."""

    def __init__(self, path: Path) -> None:
        with _open_hdf5(path) as file:
            super().__init__(path, (name for name in file if hasattr(file[name], "shape")))

    def _read(self, clip_id: str) -> FloatArray:
        with _open_hdf5(self.path) as file:
            return _as_features(file[clip_id])


class NpyFeatures(FeatureFile):
    """A folder with one `<id>.npy` a clip."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, (file.stem for file in path.glob("*.npy")))

    def _read(self, clip_id: str) -> FloatArray:
        # Mapped, so that shape and size are checked before anything is read.
        stored = np.load(self.path / f"{clip_id}.npy", mmap_mode="r", allow_pickle=False)
        return _as_features(stored)


def open_features(path: Path | str) -> FeatureFile:
    path = Path(path)
    if path.is_dir():
        return NpyFeatures(path)
    if not path.exists():
        raise CorpusError(f"{path}: no such file or folder; check the path")
    return Hdf5Features(path)


def _open_hdf5(path: Path) -> Any:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("h5py", "hdf5", "reading HDF5 features") from error
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise CorpusError(
            f"{path}: not an HDF5 file; give one, or a folder of .npy files"
        ) from error


def _as_features(stored: Any) -> FloatArray:
    """A stored array, read only after its shape, type and size were found sound."""
    if len(stored.shape) not in (2, 3) or 0 in stored.shape:
        raise ValueError(f"the shape is {stored.shape}, not (T, D) or (T, R, D)")
    if stored.dtype.kind not in "fiu":
        raise ValueError(f"the values are {stored.dtype}, not numbers")
    if stored.nbytes > LARGEST_CLIP:
        raise ValueError(f"{stored.nbytes:,} bytes are more than {LARGEST_CLIP:,}")
    with np.errstate(over="ignore"):
        features = np.array(stored, dtype=np.float32)
    if not np.isfinite(features).all():
        raise ValueError("some values are not finite")
    return features
