"""Letters for pages and pictures."""

from __future__ import annotations

from PIL import ImageFont

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def letter(size: float) -> Font:
    """The letters that come with Pillow, so that every machine draws the same."""
    return ImageFont.load_default(size=size)
