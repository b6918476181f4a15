"""Clips of which only features are there, extracted by others: `clip.npy`, or `features.h5::key`.

An array of numbers is a clip: (T, D), one vector a frame; (T, R, D), R regions a frame; or
(T, rows, columns, D), a map a frame. Nothing is ever unpickled, and no file is followed to another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import isqrt, prod
from pathlib import Path
from typing import Any, ClassVar, NoReturn
from zlib import crc32

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from densevidcap.data.clip import Clip, ClipInfo, PickedFrame, Size, open_clip
from densevidcap.data.limits import Limits
from densevidcap.data.manifest import ClipRecord, name_some
from densevidcap.errors import ClipError, CorpusError, DenseVidCapError, MissingExtraError
from densevidcap.intake import check_plain
from densevidcap.types import Frames, MapShape, TimeArray, UInt8Array

HDF5_SUFFIXES = frozenset({".h5", ".hdf5"})
LARGEST = float(np.finfo(np.float16).max)
"""What a number may be: the cache of a training keeps 16 bits of it."""

FORMS = "(T, D), (T, R, D) or (T, rows, columns, D)"


def find_file(source: Path) -> tuple[Path, str | None] | None:
    """The file of a source that is features, and the key in it, if it is HDF5; else None."""
    if source.suffix.lower() == ".npy" and source.is_file():
        return source, None
    file, separator, key = str(source).rpartition("::")
    path = Path(file if separator else source)
    if path.suffix.lower() not in HDF5_SUFFIXES or not path.is_file():
        return None
    if not separator:
        raise ClipError(f"{source}: holds many clips; name one of them: {source}::KEY")
    return path, key


def is_features(source: str | None) -> bool:
    """Whether a source is features, by its name alone."""
    file = (source or "").rpartition("::")[0]
    if file:
        return Path(file).suffix.lower() in HDF5_SUFFIXES
    return source is not None and Path(source).suffix.lower() == ".npy"


@dataclass(frozen=True)
class FeatureClip(Clip):
    """Features of T frames. No file stays open, so it can be handed to worker processes."""

    name: str
    path: Path
    key: str | None
    """Of a dataset; None for a file of one array."""
    frame_rate: float
    limits: Limits
    has_pictures: ClassVar[bool] = False

    @cached_property
    def shape(self) -> tuple[int, int, int, int]:
        """(T, rows, columns, D), from the file's header alone.

        R regions are a square map where that is possible, and else a row.
        """
        with self._open() as stored:
            shape = tuple(map(int, stored.shape))
            if stored.dtype.kind not in "fiu":
                self._refuse(f"its values are {stored.dtype}, not numbers")
            if len(shape) not in (2, 3, 4) or min(shape) < 1:
                self._refuse(f"its shape is {shape}, not {FORMS}")
        T, *cells, D = shape
        self.limits.check(self.name, "max_frames", T)
        self.limits.check(self.name, "max_feature_bytes", 4 * prod(shape))
        if len(cells) == 2:
            return T, cells[0], cells[1], D
        (R,) = cells or (1,)
        side = isqrt(R)
        return (T, side, side, D) if side**2 == R else (T, 1, R, D)

    @property
    def map(self) -> MapShape:
        """What each frame is."""
        return MapShape(*self.shape[1:])

    @property
    def info(self) -> ClipInfo:
        return ClipInfo.measure((0, 0), self.times())

    def times(self) -> TimeArray:
        return np.arange(self.shape[0]) / self.frame_rate

    def look(self, chosen: Sequence[int], form: Size | MapShape) -> Frames | None:
        if not isinstance(form, MapShape):
            raise ClipError(
                f"{self.name}: holds features and no pictures, which are needed here; name the"
                " video, or a model that was trained on such features (docs/data.md)"
            )
        if self.map != form:
            self._refuse(f"a frame has {self.map}, but the model sees {form}")
        places = np.array(chosen, np.int64)
        first, last = int(places[0]), int(places[-1])
        with self._open() as stored, np.errstate(over="ignore"):
            images = np.asarray(stored[first : last + 1][places - first], np.float32)
        if not np.isfinite(images).all():
            self._refuse("some values are not finite (NaN or infinite)")
        if (largest := float(np.abs(images).max())) > LARGEST:
            reason = f"values reach {largest:,.0f}, and {LARGEST:,.0f} is the most"
            self._refuse(reason, "divide those of all clips by the same number")
        shape = (len(places), *self.shape[1:])
        return Frames(images.reshape(shape), self.times()[places], places)

    def stream(self, size: Size | None = None) -> Iterator[tuple[float, UInt8Array]]:  # noqa: ARG002
        self.require_pictures("this")
        return iter(())

    def pick(self, chosen: Sequence[int], size: Size | None = None) -> Iterator[PickedFrame]:  # noqa: ARG002
        self.require_pictures("this")
        return iter(())

    def fingerprint(self) -> str:
        """Of its first frame: features of other networks have the same names and sizes."""
        with self._open() as stored:
            return f"{crc32(np.ascontiguousarray(stored[:1]).tobytes()):08x}"

    @contextmanager
    def _open(self) -> Iterator[Any]:
        """The stored array, of which only what is asked for is read."""
        try:
            check_plain(self.path)
            if self.key is None:
                yield _map_npy(self.path)
            else:
                with open_hdf5(self.path) as file:
                    yield _find_dataset(file, self.key)
        except DenseVidCapError:
            raise
        except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
            # HDF5 raises nearly anything on damaged files.
            reason = getattr(error, "strerror", None) or (str(error).splitlines() or ["?"])[0]
            self._refuse(reason)

    def _refuse(
        self, reason: str, remedy: str = "extract its features again, or leave it out"
    ) -> NoReturn:
        raise ClipError(f"{self.name}: {reason}; {remedy}")


def _map_npy(path: Path) -> npt.NDArray[Any]:
    """The array of the file, mapped; a ValueError unless it is whole and holds plain numbers."""
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    with path.open("rb") as file:
        read = readers.get(npy.read_magic(file))
        if read is None:
            raise ValueError("no .npy file of plain numbers")
        shape, is_fortran, dtype = read(file)
        start = file.tell()
    if dtype.hasobject:
        raise ValueError("holds Python objects, which are never read, and no array of numbers")
    if min(shape, default=1) < 1:
        raise ValueError(f"its shape is {shape}, not {FORMS}")
    if start + prod(shape) * dtype.itemsize > path.stat().st_size:
        raise ValueError("ends too early")
    order = "F" if is_fortran else "C"
    return np.memmap(path, dtype, "r", start, shape, order)  # type: ignore[call-overload,no-any-return]


def open_hdf5(path: Path) -> Any:
    """The file, to be read and closed."""
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("h5py", "hdf5", f"{path}: reading HDF5 features") from error
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise ClipError(
            f"{path}: cannot be read as HDF5 ({error}); copy or download it again"
        ) from error


def _find_dataset(file: Any, key: str) -> Any:
    """The dataset of that key, if its numbers are in the file itself."""
    import h5py

    group, *parts = file, *key.strip("/").split("/")
    for part in parts:
        link = group.get(part, getlink=True) if isinstance(group, h5py.Group) else None
        if link is None:
            raise ValueError(f"has no '{key}' among its {len(file):,} names")
        if not isinstance(link, h5py.HardLink):
            raise ValueError(f"'{key}' leads elsewhere, which is not followed")
        group = group[part]
    if not isinstance(group, h5py.Dataset):
        raise ValueError(f"'{key}' is a group and no array")
    if group.external or group.is_virtual:
        raise ValueError("its numbers are in another file, which is not read")
    return group


def _is_array(file: Any, name: str) -> bool:
    import h5py

    is_own = isinstance(file.get(name, getlink=True), h5py.HardLink)
    return is_own and file.get(name, getclass=True) is h5py.Dataset


def find_features(place: Path) -> dict[str, str]:
    """Clip id to source, of a folder with one `<id>.npy` a clip or an HDF5 file's datasets."""
    if place.is_dir():
        paths = sorted(path for path in place.glob("*.npy") if path.is_file())
        found = {path.stem: str(path) for path in paths}
    elif place.is_file():
        with open_hdf5(place) as file:
            found = {name: f"{place}::{name}" for name in file if _is_array(file, name)}
    else:
        raise CorpusError(f"{place}: no such file or folder; check the path")
    if not found:
        raise CorpusError(
            f"{place}: no features here; one array a clip, named by its id, is needed"
        )
    return found


class Census:
    """Which maps the clips of a corpus have."""

    def __init__(self) -> None:
        self._clips: defaultdict[MapShape, list[str]] = defaultdict(list)
        self._frames: set[int] = set()

    def count(self, clip: Clip) -> None:
        """Those with pictures do not count."""
        if isinstance(clip, FeatureClip):
            self._clips[clip.map].append(clip.name)
            self._frames.add(clip.shape[0])

    @property
    def usual(self) -> MapShape | None:
        """What most of the clips have; None if none has features."""
        return max(self._clips, key=lambda shape: len(self._clips[shape]), default=None)

    def describe(self) -> str:
        """Frames of a clip, and what a frame is."""
        least, most = min(self._frames), max(self._frames)
        frames = f"{most:,}" if least == most else f"{least:,} to {most:,}"
        return f"{frames} frames a clip, {self.usual} a frame"

    def refuse_others(self) -> None:
        """A CorpusError names the clips whose frames are not like those of most."""
        usual = self.usual
        for shape, clips in self._clips.items():
            if usual is not None and shape != usual:
                raise CorpusError(
                    f"{name_some(clips)}: a frame has {shape}, but most clips have {usual};"
                    " extract them alike, or leave them out"
                )


def take_census(
    records: Iterable[ClipRecord], census: Census, skip_faults: bool = False
) -> Iterator[ClipRecord]:
    """The same records, counted by what the headers of their features say.

    A clip whose features cannot be read ends it, or with `skip_faults` does not count.
    """
    for record in records:
        if is_features(record.source):
            try:
                census.count(open_clip(str(record.source)))
            except ClipError:
                if not skip_faults:
                    raise
        yield record
