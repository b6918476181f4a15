"""One interface to a clip, however it is stored, and `open_clip` that finds the right reader."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from os import SEEK_END
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from densevidcap.data.limits import Limits, read_limits
from densevidcap.data.sampling import DEFAULT_SAMPLING, Sampling, end_of
from densevidcap.errors import ClipError
from densevidcap.intake import check_plain
from densevidcap.types import (
    FloatArray,
    Frames,
    MapShape,
    SourceFrame,
    TimeArray,
    UInt8Array,
)


@dataclass(frozen=True)
class Extent:
    """A stretch of a file. Opened anew for each use, so threads and processes can share it."""

    path: Path
    offset: int = 0
    size: int | None = None
    """Bytes; None up to the end of the file."""

    def length(self) -> int:
        try:
            return self.path.stat().st_size - self.offset if self.size is None else self.size
        except OSError as error:
            raise self._unreadable(error) from error

    def read(self, most: int | None = None) -> bytes:
        """All of it, or as much as is asked for from its start."""
        try:
            check_plain(self.path)
            with self.path.open("rb") as file:
                # What is not there is not read: room for it would be made first.
                there = file.seek(0, SEEK_END) - self.offset
                size = there if self.size is None else self.size
                size = size if most is None else min(size, most)
                file.seek(self.offset)
                data = file.read(size) if size <= there else b""
        except OSError as error:
            raise self._unreadable(error) from error
        if len(data) < size:
            raise ClipError(f"{self.path}: ends too early; copy or download it again")
        return data

    def _unreadable(self, error: OSError) -> ClipError:
        return ClipError(f"{self.path}: {error.strerror}; check the file")

    @property
    def url(self) -> str:
        """The stretch in FFmpeg's words; names with colons are safe behind a protocol."""
        file = f"file:{self.path.absolute()}"
        if self.size is None:
            return file
        return f"subfile,,start,{self.offset},end,{self.offset + self.size},,:{file}"


Size = tuple[int, int]
"""(width, height) in pixels."""

DEFAULT_SIZE: Size = (320, 320)
"""The paper resizes both dimensions to 320, whatever the frame's shape."""

PICTURES_PER_SECOND = 1.0
"""Assumed of folders, shards and features, which do not tell: a frame's time is its index."""


@dataclass(frozen=True)
class ClipInfo:
    """What a clip is, measured from its frames: headers are often wrong or silent."""

    width: int
    """As displayed, after rotation; 0 where there are no pictures."""
    height: int
    duration: float | None
    """Seconds; None for a single frame, which has no length."""
    frame_count: int | None
    frame_rate: float | None
    """Frames per second on average; None for a single frame."""
    has_sound: bool

    @classmethod
    def measure(cls, size: Size, times: TimeArray, has_sound: bool = False) -> ClipInfo:
        duration = end_of(times) if len(times) > 1 else None
        rate = len(times) / duration if duration else None
        return cls(*size, duration, len(times), rate, has_sound)


class PickedFrame(NamedTuple):
    source_frame: SourceFrame
    """Index into the clip's `times`."""
    seconds: float
    image: UInt8Array
    """(H, W, 3) RGB."""


def gather(picked: Iterable[PickedFrame]) -> Frames | None:
    """Frames of the same size as one array; None if there are none."""
    found = list(picked)
    if not found:
        return None
    places, seconds, images = zip(*found, strict=True)
    return Frames(np.stack(images), np.array(seconds), np.array(places, np.int64))


class Clip(ABC):
    """Frames in display order, each with its time in seconds from the first one."""

    name: str
    """For messages: what the user called the clip."""
    has_pictures: ClassVar[bool] = True
    """False where others extracted features, and those alone are there."""

    @property
    @abstractmethod
    def info(self) -> ClipInfo: ...

    @abstractmethod
    def times(self) -> TimeArray:
        """(N,) seconds: when each of the clip's frames appears. Decodes nothing."""

    @abstractmethod
    def stream(self, size: Size | None = None) -> Iterator[tuple[float, UInt8Array]]:
        """Every frame: (seconds, (H, W, 3) RGB). Holds one frame at a time."""

    def stretch(
        self, first: int, end: int, size: Size | None = None
    ) -> Iterator[tuple[float, UInt8Array]]:
        """What `stream` gives of the frames `first` to `end` - 1 of `times`."""
        return islice(self.stream(size), first, end)

    @abstractmethod
    def pick(self, chosen: Sequence[int], size: Size | None = None) -> Iterator[PickedFrame]:
        """The frames of these ascending indices into `times`, as `stream` would give them.

        A frame that turns out to be damaged is replaced by the next intact one, so that
        fewer frames than chosen may come.
        """

    def look(self, chosen: Sequence[int], form: Size | MapShape) -> Frames | None:
        """The frames of these ascending indices in the form that eyes take; None if there are none.

        That is pictures of a size, or maps of features, where the clip has them in their place.
        """
        if isinstance(form, MapShape):
            raise ClipError(
                f"{self.name}: has pictures, but the model sees features alone, {form} of a frame;"
                " name the .npy or .h5 of the clip's features (docs/data.md)"
            )
        return gather(self.pick(chosen, form))

    def require_pictures(self, purpose: str) -> None:
        """Raise a ClipError if there are none; `purpose` is what needs them, as in "drawing"."""
        if not self.has_pictures:
            raise ClipError(
                f"{self.name}: holds features and no pictures; {purpose} needs the video"
            )

    def sound(self, rate: int = 16_000) -> FloatArray | None:  # noqa: ARG002
        """(samples,) mono from the first frame's time on; None if there is nothing to hear."""
        return None

    def sample(
        self, sampling: Sampling = DEFAULT_SAMPLING, size: Size | MapShape = DEFAULT_SIZE
    ) -> Frames:
        """Choose frames and read them.

        A clip with fewer frames than asked for gives each of them once: T is at most
        `sampling.frames`, and no frame comes twice.
        """
        times = self.times()
        if sampling.strategy == "shots":
            from densevidcap.data.shots import find_shots

            chosen = sampling.choose(times, list(find_shots(self)))
        else:
            chosen = sampling.choose(times)
        frames = self.look(chosen.tolist(), size)
        if frames is None:
            raise ClipError(f"{self.name}: no frame can be decoded; is the file complete?")
        return frames


def open_clip(
    source: str | Path,
    *,
    frame_rate: float = PICTURES_PER_SECOND,
    limits: Limits | None = None,
) -> Clip:
    """The clip at `source`: a video, GIF, image, folder of frames, `shard.tar::member`, or features
    in place of pictures, `clip.npy` or `features.h5::key`.

    `frame_rate` times the frames of folders, shards and features, which carry no times themselves.
    Without `limits`, those of the environment hold.
    """
    try:
        return _find_reader(source, frame_rate, limits or read_limits())
    except OSError as error:
        raise ClipError(f"{source}: {error.strerror}; check the path") from error


def _find_reader(source: str | Path, frame_rate: float, limits: Limits) -> Clip:
    # The readers import decoders that take a while to load, and build on this module.
    from densevidcap.data import feature_files, pictures, shards

    path = Path(source)
    if (features := feature_files.find_file(path)) is not None:
        return feature_files.FeatureClip(str(source), *features, frame_rate, limits)
    if path.is_dir():
        return pictures.open_folder(path, frame_rate, limits)
    if path.is_file():
        if path.suffix.lower() in pictures.SUFFIXES:
            return pictures.PictureClip(str(source), (Extent(path),), frame_rate, limits)
        if path.suffix.lower() == ".tar":
            raise ClipError(f"{source}: is a shard; name one of its clips: {source}::KEY")
        from densevidcap.data.video import VideoClip

        return VideoClip(str(source), Extent(path), limits)
    shard, separator, key = str(source).rpartition("::")
    if separator and Path(shard).is_file():
        return shards.open_member(Path(shard), key, frame_rate, limits)
    if path.exists():
        check_plain(path)
    raise ClipError(f"{source}: no such file or folder; check the path")
