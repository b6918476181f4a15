"""Captions made by hand over a small clip."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st

from densevidcap.types import Caption, DenseCaptions, Evidence, Grid, RegionSequence

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
) -> Caption:
    """With evidence in the first frame, and a word without."""
    sequence = RegionSequence(GRID, tuple(range(len(times))), tuple(regions), tuple(times))
    dog = Evidence("dog", 0.75, 0, regions[0], times[0], sequence.boxes[0])
    return Caption(text, confidence, -7.25, start, end, sequence, (dog,), ("grass",))


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

texts = st.text(min_size=1).filter(str.strip)
"""Anything that a sentence or a name could be, halves of surrogate pairs included."""


@st.composite
def spans(draw: st.DrawFn) -> tuple[float, float]:
    """(start, end) within four seconds, however short."""
    start = draw(st.floats(0, 3.9))
    return start, start + draw(st.floats(1e-4, 4 - start))


@st.composite
def captions(draw: st.DrawFn) -> Caption:
    """Any text at any time, with up to five frames of any regions."""
    start, end = draw(spans())
    moments = st.floats(start, end, exclude_max=True)
    times = sorted(draw(st.lists(moments, min_size=1, max_size=5)))
    regions = draw(st.lists(st.integers(0, 14), min_size=len(times), max_size=len(times)))
    return make_caption(draw(texts), start, end, times, regions, draw(st.floats(0, 1)))


dense_captions = st.lists(captions(), min_size=1, max_size=6).map(
    lambda made: make_captions("clip.mp4", *made)
)
