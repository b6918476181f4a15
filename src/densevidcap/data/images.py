"""Single images: safe decoding, and resizing."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from PIL import Image, ImageOps

from densevidcap.data.clip import Size
from densevidcap.data.limits import Limits
from densevidcap.errors import ClipError, DenseVidCapError
from densevidcap.records import UInt8Array

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
