"""Boxes of the test world's clips, as a detector would find them, and sentences on these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

from tests.export.made_captions import make_caption

from densevidcap.examples import FRAME_RATE, WorldClip
from densevidcap.examples.words import KIND_WORDS
from densevidcap.types import Caption, Grid, RegionSequence, SourceFrame

GRID = Grid(map_rows=8, map_columns=8, window=2, stride=1)


def list_boxes(clips: Mapping[str, WorldClip]) -> dict[str, Any]:
    """The truth of clips by their ids, as a detector would write it."""
    return {
        "frame_rate": FRAME_RATE,
        "words": {kind: list(words) for kind, words in KIND_WORDS.items()},
        "boxes": {
            name: {
                str(frame): [
                    [thing.kind, 0.9, *astuple(thing.boxes[frame])] for thing in clip.things
                ]
                for frame in range(len(clip.frames.times))
            }
            for name, clip in clips.items()
        },
    }


def make_case(name: str, clip: WorldClip, thing: int = 0, frame: int = 0) -> dict[str, Any]:
    """A case of the pointing game: that thing in that frame."""
    found = clip.things[thing]
    words, edges = KIND_WORDS[found.kind], astuple(found.boxes[frame])
    return {"clip": name, "frame": frame, "class": found.kind, "words": words, "boxes": [edges]}


def follow(clip: WorldClip, thing: int) -> Caption:
    """A sentence about that thing, on the regions that are nearest to it."""
    found = clip.things[thing]
    times = [float(time) for time in clip.frames.times]
    regions = [max(range(len(GRID)), key=lambda r: GRID.box(r).iou(box)) for box in found.boxes]
    caption = make_caption(f"a {found.colour} {found.kind}", 0, 4, times, [0] * len(times))
    frames = tuple(map(SourceFrame, range(len(times))))
    sequence = RegionSequence(GRID, (*regions,), (*times,), frames)
    return Caption(caption.text, 0.8, -7.25, 0, 4, sequence)
