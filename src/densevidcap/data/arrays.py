"""Frames that a program holds already, as a clip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from PIL import Image

from densevidcap.data.clip import PICTURES_PER_SECOND, Clip, ClipInfo, PickedFrame, Size
from densevidcap.data.pictures import to_array
from densevidcap.errors import ClipError
from densevidcap.types import SourceFrame, TimeArray, UInt8Array


@dataclass(frozen=True, eq=False)
class ArrayClip(Clip):
    """Frames (N, H, W, 3) RGB, of 8 bits, in time order, `frame_rate` of them a second."""

    frames: UInt8Array
    frame_rate: float = PICTURES_PER_SECOND
    name: str = "frames"

    def __post_init__(self) -> None:
        frames = self.frames
        if frames.ndim != 4 or frames.shape[-1] != 3 or not frames.size:
            raise ClipError(
                f"{self.name}: an array {frames.shape} is no clip; give frames (N, H, W, 3), RGB"
            )
        if frames.dtype != np.uint8:
            raise ClipError(
                f"{self.name}: frames of {frames.dtype}; give numbers from 0 to 255 as uint8"
            )
        if not self.frame_rate > 0:
            raise ClipError(f"{self.name}: frames a second must be above 0, not {self.frame_rate}")

    @cached_property
    def info(self) -> ClipInfo:
        _, height, width, _ = self.frames.shape
        return ClipInfo.measure((width, height), self.times())

    def times(self) -> TimeArray:
        return np.arange(len(self.frames)) / self.frame_rate

    def stream(self, size: Size | None = None) -> Iterator[tuple[float, UInt8Array]]:
        for _, seconds, image in self.pick(range(len(self.frames)), size):
            yield seconds, image

    def pick(self, chosen: Sequence[int], size: Size | None = None) -> Iterator[PickedFrame]:
        for index in chosen:
            image = to_array(Image.fromarray(self.frames[index]), size)
            yield PickedFrame(SourceFrame(index), index / self.frame_rate, image)
