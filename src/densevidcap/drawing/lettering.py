"""Letters for pages and pictures."""

from __future__ import annotations

from functools import lru_cache

from PIL import ImageFont


@lru_cache(maxsize=32)
def letter(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The letters that come with Pillow, so that every machine draws the same."""
    return ImageFont.load_default(size=size)
