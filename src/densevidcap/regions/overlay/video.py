"""The whole clip with its region-sequences moving through it, each picture at its own time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PIL import Image

from densevidcap.data.clip import Clip
from densevidcap.drawing.video import fit_video, write_video
from densevidcap.records import UInt8Array
from densevidcap.regions.overlay.boxes import box_at, draw_boxes
from densevidcap.regions.overlay.legend import Legend
from densevidcap.regions.words import WordedSequence


def write_overlay_video(
    worded: Sequence[WordedSequence],
    clip: Clip,
    path: Path,
    advance: Callable[[], None] = lambda: None,
) -> None:
    """An H.264 video; `advance` is called after each of the clip's pictures."""
    width, height = fit_video((clip.info.width, clip.info.height))
    legend = Legend(worded, width)
    size = width, height + legend.height

    def draw(seconds: float, image: UInt8Array) -> Image.Image:
        picture = Image.fromarray(image)
        draw_boxes(picture, [box_at(each.sequence, seconds) for each in worded])
        page = Image.new("RGB", size)
        page.paste(picture, (0, 0))
        page.paste(legend.draw(seconds), (0, height))
        return page

    pages = ((seconds, draw(seconds, image)) for seconds, image in clip.stream((width, height)))
    write_video(path, pages, size, advance)
