"""Contact sheets: clips' sampled frames on one image, each with its time."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image, ImageDraw

from densevidcap.data.clip import Size
from densevidcap.types import Frames
from densevidcap.viz.canvas import fit, letter

COLUMNS = 6
CELL = 200
"""Pixels of a frame's longer side."""
_MARGIN = 4
_TITLE = 22


def draw_strip(title: str, frames: Frames, shape: Size) -> Image.Image:
    """One clip's frames in rows; `shape` is the clip's own size, so that nothing looks squashed."""
    width, height = fit(shape, CELL)
    rows = -(-len(frames) // COLUMNS)
    strip = Image.new(
        "RGB", (COLUMNS * (CELL + _MARGIN) + _MARGIN, _TITLE + rows * (height + _MARGIN) + _MARGIN)
    )
    draw = ImageDraw.Draw(strip)
    font = letter(13)
    draw.text((_MARGIN, _MARGIN), title, "white", font)
    for number, (image, seconds) in enumerate(zip(frames.images, frames.times, strict=True)):
        row, column = divmod(number, COLUMNS)
        x, y = _MARGIN + column * (CELL + _MARGIN), _TITLE + row * (height + _MARGIN)
        strip.paste(Image.fromarray(image).resize((width, height)), (x, y))
        label = (x + 3, y + 2), f"{seconds:.2f} s"
        draw.rectangle(draw.textbbox(*label, font), "black")
        draw.text(*label, "white", font)
    return strip


def stack(strips: Sequence[Image.Image]) -> Image.Image:
    """The strips one below the other."""
    width = max(strip.width for strip in strips)
    sheet = Image.new("RGB", (width, sum(strip.height for strip in strips)))
    top = 0
    for strip in strips:
        sheet.paste(strip, (0, top))
        top += strip.height
    return sheet
