"""Response maps: how strongly each region answers to a word, drawn over the frames.

The paper's supplement shows such maps ("Response Maps"). `overlay` paints one
over a picture, `sheet` a clip's frames on one image, `video` the moving clip.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw

from densevidcap.data.clip import Clip, Size
from densevidcap.data.sampling import end_of
from densevidcap.types import Box, FloatArray, Frames, Grid, TimeArray, UInt8Array
from densevidcap.viz.canvas import choose_evenly, fit, lerp, lerp_box, letter, outline
from densevidcap.viz.colours import FAINT, INK, PAPER, RGB, RIM, mix
from densevidcap.viz.video import fit_video, write_video

if TYPE_CHECKING:
    from densevidcap.models.shown_words import ShownWord


def draw_title(response: ResponseMap, width: int, height: int) -> Image.Image:
    """A band with the word, its probabilities and the legend."""
    shown = response.shown
    band = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(band)
    margin, middle = height // 4, height // 2
    big, small = letter(height * 0.46), letter(height * 0.27)
    draw.text((margin, middle), shown.word, INK, big, anchor="lm")
    x = margin + draw.textlength(shown.word, big) + height * 0.35
    legend = draw_legend(response.scale, height * 3, height)
    by_place = f"{shown.peak:.0%} by its best place, at {shown.time:.1f} s"
    text = f"{shown.probability:.0%} by the whole clip, {by_place}"
    if x + draw.textlength(text, small) < width - legend.width:
        draw.text((x, middle + height * 0.05), text, FAINT, small, anchor="lm")
    band.paste(legend, (width - legend.width, 0))
    return band


def draw_legend(scale: float, width: int, height: int) -> Image.Image:
    """The ramp from 0 to the probability that its last colour stands for."""
    legend = Image.new("RGB", (width, height), PAPER)
    draw, font = ImageDraw.Draw(legend), letter(height * 0.24)
    left, right = round(height * 0.1), round(width - height * 0.35)
    top, bottom = round(height * 0.24), round(height * 0.46)
    ramp = colour(np.linspace(0, 1, right - left, dtype=np.float32)).astype(np.uint8)
    legend.paste(Image.fromarray(np.tile(ramp, (bottom - top, 1, 1))), (left, top))
    digits = 0 if scale >= 0.1 else 1
    for share, anchor in ((0.0, "lt"), (0.5, "mt"), (1.0, "rt")):
        x = left + share * (right - left - 1)
        text = f"{share * scale:.{digits}%}" if share else "0"
        draw.text((x, height * 0.56), text, FAINT, font, anchor=anchor)
    return legend


RAMP = np.array(
    [(13, 8, 64), (84, 15, 124), (158, 36, 119), (219, 74, 85), (249, 137, 46), (252, 238, 152)],
    dtype=np.float32,
)
"""Colours from no response to the strongest. Their lightness rises evenly, so that the order
survives in grey and for colour-blind eyes."""

FAINTEST, STRONGEST = 0.08, 0.75
"""Opacity of the colours at the ramp's ends: low responses leave the picture to be seen."""

WHITE: RGB = (255, 255, 255)


@dataclass(frozen=True)
class ResponseMap:
    """How strongly the regions of a clip's frames answer to one word."""

    shown: ShownWord
    grid: Grid
    times: TimeArray
    """(T,) seconds."""
    responses: FloatArray
    """(T, R): P(word | region)."""
    boxes: tuple[Box, ...]
    """Where the word is in each frame."""

    @property
    def scale(self) -> float:
        """The response that gets the ramp's last colour: the clip's strongest."""
        return max(float(self.responses.max()), 1e-6)

    def at(self, time: float) -> FloatArray:
        """(R,) responses at any time, in even passage from one looked-at frame to the next."""
        return np.asarray(lerp(self.times, self.responses, time))

    def paint(self, image: UInt8Array, time: float) -> Image.Image:
        """(H, W, 3) under the responses of that time, the word's box outlined."""
        height, width = image.shape[:2]
        strengths = self.at(time) / self.scale
        picture = Image.fromarray(blend(image, spread(strengths, self.grid, (width, height))))
        # The weaker, the greyer.
        lightness = 0.4 + 0.6 * min(1.0, float(strengths.max()))
        outline(picture, lerp_box(self.times, self.boxes, time), mix(RIM, WHITE, lightness))
        return picture


def level(responses: FloatArray, strongest: FloatArray) -> FloatArray:
    """(T, R) responses of any windows, each frame's so that its highest is the one of (T,).

    Small windows tell where a word is, and regions how probable it is.
    """
    highest = np.maximum(responses.max(axis=1), 1e-6)
    return np.asarray(responses * (strongest / highest)[:, None], np.float32)


def colour(strength: FloatArray) -> FloatArray:
    """(…) in [0, 1] to the ramp's colours (…, 3)."""
    position = np.clip(strength, 0, 1) * (len(RAMP) - 1)
    below = np.minimum(position.astype(np.intp), len(RAMP) - 2)
    share = (position - below)[..., None]
    return np.asarray(RAMP[below] * (1 - share) + RAMP[below + 1] * share, dtype=np.float32)


def opacity(strength: FloatArray) -> FloatArray:
    """(…) in [0, 1] to how much of its colour covers the picture."""
    return np.asarray(FAINTEST + (STRONGEST - FAINTEST) * np.clip(strength, 0, 1) ** 1.3)


def spread(values: FloatArray, grid: Grid, size: Size) -> FloatArray:
    """(R,) values to a field (H, W) that has each region's value at its centre, smooth between."""
    width, height = size
    centres = np.array([grid.centre(region) for region in range(len(grid))])
    across = _weights(centres[: grid.columns, 0], width)
    down = _weights(centres[:: grid.columns, 1], height)
    return np.asarray(down @ values.reshape(grid.rows, grid.columns) @ across.T)


def _weights(centres: TimeArray, pixels: int) -> FloatArray:
    """(pixels, N): what each of N centres along a side gives to each pixel.

    Between two centres the share of the nearer one falls along 3t² - 2t³,
    which has neither the creases of straight lines nor the overshoot of splines.
    """
    places = (np.arange(pixels) + 0.5) / pixels
    weights = np.zeros((pixels, len(centres)), dtype=np.float32)
    if len(centres) == 1:
        return weights + 1
    left = np.clip(np.searchsorted(centres, places) - 1, 0, len(centres) - 2)
    t = np.clip((places - centres[left]) / (centres[left + 1] - centres[left]), 0, 1)
    share = t * t * (3 - 2 * t)
    rows = np.arange(pixels)
    weights[rows, left] = 1 - share
    weights[rows, left + 1] = share
    return weights


def blend(image: UInt8Array, strength: FloatArray) -> UInt8Array:
    """Colours of (H, W) strengths in [0, 1] over (H, W, 3), greyed so that they stand out."""
    pixels = image.astype(np.float32)
    grey = pixels @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
    muted = 0.45 * pixels + 0.55 * grey[..., None]
    share = opacity(strength)[..., None]
    return np.asarray(muted * (1 - share) + colour(strength) * share, dtype=np.uint8)


COLUMNS, SHOWN = 4, 12
"""Pictures in a row, and on a sheet at most."""
CELL = 320
"""Pixels of a picture's longer side."""
GAP, LABEL, TITLE = 12, 26, 72


def draw_sheet(response: ResponseMap, frames: Frames, shape: Size) -> Image.Image:
    """Frames in rows with title and legend; `shape` is the clip's own size, against squashing."""
    chosen = choose_frames(len(frames), response.shown.index)
    width, height = fit(shape, CELL)
    columns = min(COLUMNS, len(chosen))
    rows = -(-len(chosen) // columns)
    # A single narrow picture still needs room for the title above it.
    sheet_width = max(GAP + columns * (width + GAP), 2 * CELL)
    sheet = Image.new("RGB", (sheet_width, TITLE + rows * (height + LABEL + GAP)), PAPER)
    sheet.paste(draw_title(response, sheet_width, TITLE), (0, 0))
    draw, font = ImageDraw.Draw(sheet), letter(15)
    of_frames = response.responses.max(axis=1)
    for number, frame in enumerate(chosen):
        row, column = divmod(number, columns)
        x, y = GAP + column * (width + GAP), TITLE + row * (height + LABEL + GAP)
        picture = Image.fromarray(frames.images[frame]).resize(
            (width, height), Image.Resampling.BICUBIC
        )
        sheet.paste(response.paint(np.asarray(picture), float(response.times[frame])), (x, y))
        ink = INK if frame == response.shown.index else FAINT
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


def write_response_video(
    response: ResponseMap, clip: Clip, path: Path, advance: Callable[[], None] = lambda: None
) -> None:
    """An H.264 video; between the frames that were looked at, responses pass evenly."""
    width, height = fit_video((clip.info.width, clip.info.height))
    band = max(40, height // 12 // 2 * 2)
    title = draw_title(response, width, band)

    def draw(seconds: float, image: UInt8Array) -> Image.Image:
        page = Image.new("RGB", (width, height + band), PAPER)
        page.paste(title, (0, 0))
        page.paste(response.paint(image, seconds), (0, band))
        return page

    pages = ((seconds, draw(seconds, image)) for seconds, image in clip.stream((width, height)))
    write_video(path, pages, (width, height + band), end_of(clip.times()), advance)
