"""Contact sheets: clips' sampled frames on one image, each with its time."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image, ImageDraw

from densevidcap.data.clip import Clip, Size
from densevidcap.errors import ClipError
from densevidcap.types import Caption, Frames
from densevidcap.viz.canvas import choose_evenly, fit, letter
from densevidcap.viz.captions import assign_colours, assign_lanes, mark_box
from densevidcap.viz.sequences import box_at

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


MOMENT = 320
"""Pixels of the longer side of a frame with boxes."""


def draw_moments(captions: Sequence[Caption], clip: Clip, most: int) -> Image.Image:
    """A few frames side by side, with the boxes of what is said of each."""
    size = fit((clip.info.width, clip.info.height), MOMENT)
    lanes, colours = assign_lanes(captions), assign_colours(captions)
    pictures = []
    # From the middle of equal parts: first and last frames are often black.
    parts = choose_evenly(len(clip.times()), 2 * most + 1)
    for _, seconds, image in clip.pick(sorted({*parts[1::2]} or {*parts}), size):
        picture = Image.fromarray(image)
        # The best last, on top of the others.
        for rank in reversed(range(len(captions))):
            if captions[rank].holds_at(seconds):
                box = box_at(captions[rank].sequence, seconds)
                mark_box(picture, box, rank, lanes[rank], colours[rank])
        pictures.append(picture)
    if not pictures:
        raise ClipError(f"{clip.name}: no frame can be decoded; is the file complete?")
    width, height = size
    row = Image.new("RGB", (len(pictures) * (width + _MARGIN) - _MARGIN, height), "white")
    for number, picture in enumerate(pictures):
        row.paste(picture, (number * (width + _MARGIN), 0))
    return row
