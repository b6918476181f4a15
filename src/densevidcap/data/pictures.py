"""Clips made of single images: a still, a folder of frames, the images of a shard's member."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from densevidcap.data.clip import Clip, ClipInfo, Extent, PickedFrame, Size
from densevidcap.data.limits import Limits
from densevidcap.errors import ClipError, DenseVidCapError
from densevidcap.types import SourceFrame, TimeArray, UInt8Array

SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"})

# Only these parsers see untrusted bytes; Pillow knows dozens more.
_FORMATS = ("BMP", "JPEG", "PNG", "PPM", "TIFF", "WEBP")


def decode_image(data: bytes, name: str, limits: Limits) -> Image.Image:
    """An RGB image, turned as its EXIF data say."""
    try:
        with Image.open(BytesIO(data), formats=_FORMATS) as image:
            limits.check_frame(name, image.width, image.height)
            if getattr(image, "is_animated", False):
                raise ClipError(f"{name}: has several images; convert it to a GIF or a video")
            return lay_on_white(ImageOps.exif_transpose(image))
    except DenseVidCapError:
        raise
    except Exception as error:
        # Pillow's decoders raise nearly anything on damaged bytes.
        raise ClipError(
            f"{name}: cannot be read as an image ({type(error).__name__});"
            " save it again as PNG, JPEG or WebP"
        ) from error


def lay_on_white(image: Image.Image) -> Image.Image:
    """RGB, with white behind what is transparent, as viewers show it."""
    if image.has_transparency_data:
        image = image.convert("RGBA")
        # Pasted, since a composite would hold the whole picture twice more.
        white = Image.new("RGB", image.size, "white")
        white.paste(image, mask=image)
        return white
    return image if image.mode == "RGB" else image.convert("RGB")


def to_array(image: Image.Image, size: Size | None) -> UInt8Array:
    """(H, W, 3), resized without aliasing by the filter that videos get too."""
    if size is not None and image.size != size:
        # Past twice the target a cheap box average first costs no visible quality.
        image = image.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)
    return np.array(image)


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
        for _, seconds, image in self.pick(range(len(self.pictures)), size):
            yield seconds, image

    def pick(self, chosen: Sequence[int], size: Size | None = None) -> Iterator[PickedFrame]:
        for index in chosen:
            image = to_array(self._decode(index), size)
            yield PickedFrame(SourceFrame(index), index / self.frame_rate, image)

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
    parts = re.split(r"([0-9]+)", name.lower())
    # Digits of other scripts are text, which is all that they can be compared with.
    return [int(part) if part.isascii() and part.isdecimal() else part for part in parts]
