"""A film of ten minutes with two thousand sentences, as the command line leaves it in a library."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
from av.video.frame import VideoFrame
from tests.export.made_captions import make_caption, make_captions
from tests.studio.made_shelf import shelve_captions
from tests.studio.small_model import SIZE

from densevidcap.library.store import Library
from densevidcap.types import Caption, DenseCaptions

SECONDS = 600
CHAPTERS = tuple(pairwise((0.0, 60.0, 186.0, 300.0, 480.0, 600.0)))
"""The fourth is longer than the others."""
SCENE = 6.0
"""Seconds of each."""
EACH = 20
"""Sentences of a scene."""
THINGS = ("dog", "cat", "car", "horse", "ship", "train", "piano", "ball", "tree", "boat")
PLACES = (
    "beach",
    "street",
    "kitchen",
    "garden",
    "stage",
    "field",
    "river",
    "roof",
    "bridge",
    "hill",
)


def write_film(path: Path) -> Path:
    """A picture a second, each brighter than the one before."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=1)
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        stream.options = {"preset": "ultrafast", "g": "10"}
        for second in range(SECONDS):
            level = 40 + second * 180 // SECONDS
            frame = VideoFrame.from_ndarray(np.full((SIZE[1], SIZE[0], 3), level, np.uint8))
            frame.pts, frame.time_base = second, Fraction(1)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def tell(number: int) -> str:
    """The sentence of that number by time, from 1 on; no other is the same."""
    thing, place = THINGS[number % 10], PLACES[number // 10 % 10]
    # Some are longer than a line.
    more = ", and goes on and on while somebody watches from the other side" * (number % 7 == 0)
    return f"A {thing} is on the {place} for the {number}th time{more}."


def make_film(source: str) -> DenseCaptions:
    """The best of every scene come first, as in what the pipeline makes."""
    scenes = tuple((float(start), start + SCENE) for start in np.arange(0, SECONDS, SCENE))
    ranked: list[tuple[int, Caption]] = []
    for place, (start, end) in enumerate(scenes):
        for rank in range(EACH):
            begin = start + rank * 0.1
            times = begin + 0.5, end - 1
            text = tell(place * EACH + rank + 1)
            sure = 0.9 - rank * 0.02
            ranked.append((rank, make_caption(text, begin, end, times, (0, 9), sure)))
    ranked.sort(key=lambda each: each[0])
    made = make_captions(source, *(caption for _, caption in ranked))
    return replace(made, duration=float(SECONDS), scenes=scenes, chapters=CHAPTERS)


def shelve_film(library: Library, folder: Path) -> str:
    """Its identity."""
    clip = write_film(folder / "film.mp4")
    return shelve_captions(library, clip, make_film(clip.name))
