"""Clips made of single images: a still, a folder of frames, the images of a shard's member."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from PIL import Image

from densevidcap.data.clip import Clip, ClipInfo, Size
from densevidcap.data.extent import Extent
from densevidcap.data.images import SUFFIXES, decode_image, to_array
from densevidcap.data.limits import Limits
from densevidcap.errors import ClipError
from densevidcap.records import TimeArray, UInt8Array


@dataclass(frozen=True)
class PictureClip(Clip):
    """Images in time order, `frame_rate` of them a second."""

    name: str
    pictures: Sequence[Extent]
    frame_rate: float
    limits: Limits

    def __post_init__(self) -> None:
        if self.frame_rate <= 0:
            raise ValueError(f"the frame rate must be positive, not {self.frame_rate}")
        self.limits.check(self.name, "max_frames", len(self.pictures))

    @cached_property
    def info(self) -> ClipInfo:
        return ClipInfo.measure(self._decode(0).size, self.times())

    def times(self) -> TimeArray:
        return np.arange(len(self.pictures)) / self.frame_rate

    def stream(self, size: Size | None = None) -> Iterator[tuple[float, UInt8Array]]:
        return self.pick(range(len(self.pictures)), size)

    def pick(
        self, chosen: Sequence[int], size: Size | None = None
    ) -> Iterator[tuple[float, UInt8Array]]:
        for index in chosen:
            yield index / self.frame_rate, to_array(self._decode(index), size)

    def _decode(self, index: int) -> Image.Image:
        picture = self.pictures[index]
        name = self.name if len(self.pictures) == 1 else f"{self.name} (picture {index})"
        self.limits.check(name, "max_image_bytes", picture.length())
        return decode_image(picture.read(), name, self.limits)


def open_folder(folder: Path, frame_rate: float, limits: Limits) -> PictureClip:
    """The images of a folder in the order a person would sort them: 2.png before 10.png."""
    paths = [
        path
        for path in folder.iterdir()
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    ]
    if not paths:
        known = " ".join(sorted(SUFFIXES))
        raise ClipError(f"{folder}: holds no frames; put images there ({known})")
    paths.sort(key=lambda path: natural_order(path.name))
    return PictureClip(str(folder), tuple(map(Extent, paths)), frame_rate, limits)


def natural_order(name: str) -> list[str | int]:
    """A sort key that compares the numbers in names as numbers."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"([0-9]+)", name.lower())]
