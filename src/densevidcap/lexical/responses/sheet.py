"""A clip's frames under a word's responses, on one image."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw

from densevidcap.data.clip import Size
from densevidcap.drawing.colours import FAINT, INK, PAPER
from densevidcap.drawing.layout import choose_evenly, fit
from densevidcap.drawing.lettering import letter
from densevidcap.lexical.responses.lettering import draw_title
from densevidcap.lexical.responses.overlay import ResponseMap
from densevidcap.lexical.words import noisy_or_frames
from densevidcap.records import Frames

COLUMNS, SHOWN = 4, 12
"""Pictures in a row, and on a sheet at most."""
CELL = 320
"""Pixels of a picture's longer side."""
GAP, LABEL, TITLE = 12, 26, 72


def draw_sheet(response: ResponseMap, frames: Frames, shape: Size) -> Image.Image:
    """Frames in rows with title and legend; `shape` is the clip's own size, against squashing."""
    chosen = choose_frames(len(frames), response.shown.frame)
    width, height = fit(shape, CELL)
    columns = min(COLUMNS, len(chosen))
    rows = -(-len(chosen) // columns)
    # A single narrow picture still needs room for the title above it.
    sheet_width = max(GAP + columns * (width + GAP), 2 * CELL)
    sheet = Image.new("RGB", (sheet_width, TITLE + rows * (height + LABEL + GAP)), PAPER)
    sheet.paste(draw_title(response, sheet_width, TITLE), (0, 0))
    draw, font = ImageDraw.Draw(sheet), letter(15)
    of_frames = noisy_or_frames(response.responses[:, :, None])[:, 0]
    for number, frame in enumerate(chosen):
        row, column = divmod(number, columns)
        x, y = GAP + column * (width + GAP), TITLE + row * (height + LABEL + GAP)
        picture = Image.fromarray(frames.images[frame]).resize(
            (width, height), Image.Resampling.BICUBIC
        )
        sheet.paste(response.paint(np.asarray(picture), response.responses[frame]), (x, y))
        ink = INK if frame == response.shown.frame else FAINT
        below = y + height + LABEL // 2 + 1
        draw.text((x + 2, below), f"{frames.times[frame]:.1f} s", ink, font, anchor="lm")
        draw.text((x + width - 2, below), f"{of_frames[frame]:.0%}", ink, font, anchor="rm")
    return sheet


def choose_frames(count: int, strongest: int) -> list[int]:
    """Indices of at most SHOWN frames, evenly spread, the strongest one among them."""
    chosen = choose_evenly(count, SHOWN)
    nearest = min(range(len(chosen)), key=lambda place: abs(chosen[place] - strongest))
    chosen[nearest] = strongest
    return chosen
