"""What stands beside the pictures: a title, and a legend of the colours."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw

from densevidcap.drawing.colours import FAINT, INK, PAPER
from densevidcap.drawing.lettering import letter
from densevidcap.lexical.responses.overlay import ResponseMap, colour


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
    text = f"in this clip {shown.probability:.0%}, strongest {shown.peak:.0%} at {shown.time:.1f} s"
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
