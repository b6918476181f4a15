"""What a clip moves and sounds like, to be looked at: snippets with actions, spectrogram, words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw

from densevidcap.data.clip import Clip, Size
from densevidcap.data.sampling import end_of
from densevidcap.data.spectrum import FLOOR, measure_bands
from densevidcap.types import FloatArray
from densevidcap.viz.canvas import fit, letter
from densevidcap.viz.colours import FAINT, INK, PAPER, colour_of
from densevidcap.viz.responses import colour

if TYPE_CHECKING:
    from densevidcap.models.extractors.telling import Moment

WIDTH = 1440
_MARGIN = 12
_LINE = 19
_SOUND = 120
_BARS = 70
_FRAME = 320
"""Pixels of a frame's longer side at most."""


def draw_spectrogram(sound: FloatArray, rate: int, size: Size, duration: float) -> Image.Image:
    """Loudness by time and pitch, low below, of a clip of so many seconds.

    The loudest sound has the brightest colour, and silence the darkest.
    """
    bands = measure_bands(sound[: round(duration * rate)], rate)
    floor = float(np.log(FLOOR))
    shares = (bands - floor) / max(float(bands.max()) - floor, 1e-6)
    # As long as the clip: sound may end before the pictures do.
    looks = max(len(shares), round(len(shares) * duration * rate / max(1, len(sound))))
    padded = np.zeros((looks, bands.shape[1]), np.float32)
    padded[: len(shares)] = shares
    picture = Image.fromarray(colour(padded.T[::-1]).astype(np.uint8))
    return picture.resize(size, Image.Resampling.BOX)


def draw_streams(
    clip: Clip,
    actions: Sequence[Moment],
    heard: tuple[FloatArray, int] | None,
    scenes: Sequence[Moment],
    words: FloatArray | None = None,
) -> Image.Image:
    """A page: one frame of each snippet with its actions, the sound below, scenes and words."""
    duration = end_of(clip.times())
    parts = [_draw_title(clip, duration)]
    if actions:
        parts.append(_draw_actions(clip, actions))
    if heard is None:
        parts.append(_draw_line("no sound"))
    else:
        size = WIDTH - 2 * _MARGIN, _SOUND
        parts.append(_frame(draw_spectrogram(*heard, size, duration)))
    if scenes:
        parts.append(_draw_scenes(scenes, duration))
    if words is not None:
        parts.append(_draw_words(words))
    page = Image.new("RGB", (WIDTH, sum(part.height for part in parts) + _MARGIN), PAPER)
    top = 0
    for part in parts:
        page.paste(part, (0, top))
        top += part.height
    return page


def _draw_title(clip: Clip, duration: float) -> Image.Image:
    return _draw_line(f"{Path(clip.name).name}  {duration:.1f} s", 17)


def _draw_line(text: str, size: float = 14) -> Image.Image:
    line = Image.new("RGB", (WIDTH, 2 * _LINE), PAPER)
    ImageDraw.Draw(line).text((_MARGIN, _LINE), text, INK, letter(size), anchor="lm")
    return line


def _frame(picture: Image.Image) -> Image.Image:
    framed = Image.new("RGB", (WIDTH, picture.height + _MARGIN), PAPER)
    framed.paste(picture, (_MARGIN, 0))
    return framed


def _draw_actions(clip: Clip, actions: Sequence[Moment]) -> Image.Image:
    """Frames as wide as there is room for, each in the middle of its snippet."""
    room = (WIDTH - 2 * _MARGIN) // len(actions)
    width, height = fit((clip.info.width, clip.info.height), min(room - 4, _FRAME))
    times = clip.times()
    middles = [(moment.start + moment.end) / 2 for moment in actions]
    places = np.unique(np.minimum(np.searchsorted(times, middles), len(times) - 1)).tolist()
    lines = max(len(moment.labels) for moment in actions)
    part = Image.new("RGB", (WIDTH, height + (lines + 1) * _LINE + _MARGIN), PAPER)
    draw = ImageDraw.Draw(part)
    for number, picked in enumerate(clip.pick(places, (width, height))):
        part.paste(Image.fromarray(picked.image), (_MARGIN + number * room, 0))
    for number, moment in enumerate(actions):
        left = _MARGIN + number * room
        draw.text((left, height + 3), f"{moment.start:.1f}-{moment.end:.1f} s", FAINT, letter(12))
        _write_labels(draw, moment, (left, height + _LINE), room)
    return part


def _draw_scenes(scenes: Sequence[Moment], duration: float) -> Image.Image:
    lines = max(len(moment.labels) for moment in scenes)
    part = Image.new("RGB", (WIDTH, lines * _LINE + _MARGIN), PAPER)
    draw = ImageDraw.Draw(part)
    scale = (WIDTH - 2 * _MARGIN) / duration
    for moment in scenes:
        left = _MARGIN + round(moment.start * scale)
        _write_labels(draw, moment, (left, 0), round((moment.end - moment.start) * scale))
    return part


def _write_labels(
    draw: ImageDraw.ImageDraw, moment: Moment, at: tuple[int, int], room: int
) -> None:
    """One below the other, as long as there is room."""
    left, top = at
    for row, (name, probability) in enumerate(moment.labels):
        text, font = f"{probability:.0%} {name}", letter(13 if row == 0 else 12)
        while draw.textlength(text, font) > room - 6 and len(text) > 5:
            text = f"{text[:-2]}…"
        draw.text((left, top + row * _LINE), text, INK if row == 0 else FAINT, font)


def _draw_words(words: FloatArray) -> Image.Image:
    """A bar for each audio word, the highest as high as there is room."""
    part = Image.new("RGB", (WIDTH, _BARS + _MARGIN), PAPER)
    draw = ImageDraw.Draw(part)
    step = (WIDTH - 2 * _MARGIN) / len(words)
    for place, share in enumerate((words / max(float(words.max()), 1e-9)).tolist()):
        left = _MARGIN + place * step
        box = (left, _BARS - share * (_BARS - 4), left + max(1, step - 1), _BARS)
        draw.rectangle(box, colour_of(1).rgb)
    return part
