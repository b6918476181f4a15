"""Captions made by hand over a small clip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from hypothesis import strategies as st

from densevidcap.types import (
    Box,
    Caption,
    DenseCaptions,
    Evidence,
    Grid,
    RegionSequence,
    SourceFrame,
)

GRID = Grid(map_rows=4, map_columns=6, window=2, stride=1)
"""3 x 5 regions."""
LEFT, RIGHT = 5, 9
"""Regions at both ends of the middle row."""


def make_caption(
    text: str = "a dog runs over the grass",
    start: float = 0.0,
    end: float = 4.0,
    times: Sequence[float] = (0.5, 1.5, 2.5, 3.5),
    regions: Sequence[int] = (5, 6, 7, 8),
    confidence: float = 0.8,
    fitted: tuple[Box, ...] | None = None,
    known: bool = True,
) -> Caption:
    """With evidence in the first frame, a word without, and source frames if they are known."""
    frames = tuple(SourceFrame(int(10 * time)) for time in times) if known else None
    sequence = RegionSequence(GRID, tuple(regions), tuple(times), frames, fitted)
    first = None if frames is None else frames[0]
    dog = Evidence("dog", 0.75, regions[0], times[0], sequence.grid_boxes[0], first)
    return Caption(text, confidence, -7.25, start, end, sequence, (dog,), ("grass",))


def forget_frames(caption: Caption) -> Caption:
    """As a file of an earlier version has it."""
    return replace(
        caption,
        sequence=replace(caption.sequence, source_frames=None),
        evidence=tuple(replace(word, source_frame=None) for word in caption.evidence),
    )


def make_captions(source: str | Path, *captions: Caption) -> DenseCaptions:
    """Of a clip of 40 frames in four seconds, as `made_clips.write_video` makes it."""
    return DenseCaptions(
        source=str(source),
        duration=4.0,
        width=64,
        height=48,
        captions=captions or SOME,
        model="small",
        model_version="1",
    )


SOME = (
    make_caption(),
    make_caption("a man watches", 0.0, 4.0, (0.5, 3.5), (RIGHT, RIGHT), 0.6),
    make_caption("a ball lies there", 2.0, 3.0, (2.5,), (0,), 0.3),
)
"""One that moves, one that stays at the right, and one of a single frame in the top left corner."""

FITTED = (
    make_caption(
        fitted=(
            Box(0.05, 0.3, 0.2, 0.9),
            Box(0.1, 0.25, 0.4, 0.5),
            Box(0.3, 0.2, 0.9, 0.6),
            Box(0.625, 0.125, 0.75, 0.875),
        )
    ),
    make_caption(
        "a man watches",
        times=(0.5, 3.5),
        regions=(RIGHT, RIGHT),
        fitted=(Box(0.7, 0.35, 1, 0.55), Box(0.8, 0.6, 0.85, 1)),
        confidence=0.6,
    ),
)
"""Boxes of every shape, which grow, shrink and move."""

texts = st.text(min_size=1).filter(str.strip)
"""Anything that a sentence or a name could be, halves of surrogate pairs included."""


@st.composite
def spans(draw: st.DrawFn) -> tuple[float, float]:
    """(start, end) within four seconds, however short."""
    start = draw(st.floats(0, 3.9))
    return start, start + draw(st.floats(1e-4, 4 - start))


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    """Anywhere in the frame, as large as it or as thin as numbers are."""
    edges = st.lists(st.floats(0, 1), min_size=2, max_size=2, unique=True).map(sorted)
    (left, right), (top, bottom) = draw(edges), draw(edges)
    return Box(left, top, right, bottom)


@st.composite
def captions(draw: st.DrawFn) -> Caption:
    """Any text at any time, with up to five frames of any regions or boxes."""
    start, end = draw(spans())
    moments = st.floats(start, end, exclude_max=True)
    times = sorted(draw(st.lists(moments, min_size=1, max_size=5)))
    regions = draw(st.lists(st.integers(0, 14), min_size=len(times), max_size=len(times)))
    own = st.just(tuple(map(GRID.box, regions)))
    fitted = draw(st.none() | own | st.tuples(*[boxes()] * len(times)))
    confidence, known = draw(st.floats(0, 1)), draw(st.booleans())
    return make_caption(draw(texts), start, end, times, regions, confidence, fitted, known)


dense_captions = st.lists(captions(), min_size=1, max_size=6).map(
    lambda made: make_captions("clip.mp4", *made)
)


@st.composite
def make_films(draw: st.DrawFn) -> DenseCaptions:
    """Sentences of a clip that has scenes, and maybe chapters."""
    made = draw(dense_captions)
    inner = draw(st.sets(st.integers(1, int(made.duration * 1000) - 1), max_size=5))
    edges = [0.0, *(edge / 1000 for edge in sorted(inner)), made.duration]
    scenes = tuple(pairwise(edges))
    parts = draw(st.sampled_from([(), scenes] if len(scenes) > 1 else [()]))
    return replace(made, scenes=scenes, chapters=parts)


films = make_films()
