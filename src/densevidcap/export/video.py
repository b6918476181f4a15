"""The clip with boxes moving through it, the sentences below, and its own sound."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PIL import Image

from densevidcap.data.clip import Clip
from densevidcap.drawing.video import fit_video
from densevidcap.export.film import write_film
from densevidcap.export.lanes import assign_lanes
from densevidcap.export.marks import mark_box
from densevidcap.export.panel import Panel
from densevidcap.files import replacing
from densevidcap.records import DenseCaptions, UInt8Array
from densevidcap.regions.overlay.boxes import box_at


def write_annotated(
    captions: DenseCaptions,
    clip: Clip,
    path: Path,
    advance: Callable[[], None],
    overwrite: bool = False,
) -> None:
    """An MP4 of every picture of the clip; `advance` is called after each.

    A caption's box is shown while the caption holds. Between the frames that were looked at it
    moves evenly, before the first and after the last one it stays.
    """
    width, height = fit_video((clip.info.width, clip.info.height))
    panel = Panel(captions.captions, width)
    lanes = assign_lanes(captions.captions)
    size = width, height + panel.height

    def draw(seconds: float, image: UInt8Array) -> Image.Image:
        now = tuple(rank for rank, caption in enumerate(captions) if caption.holds_at(seconds))
        picture = Image.fromarray(image)
        # The best last, on top of the others.
        for rank in reversed(now):
            mark_box(picture, box_at(captions[rank].sequence, seconds), rank, lanes[rank])
        page = Image.new("RGB", size)
        page.paste(picture, (0, 0))
        page.paste(panel.draw(now), (0, height))
        return page

    pages = ((seconds, draw(seconds, image)) for seconds, image in clip.stream((width, height)))
    with replacing(path, overwrite) as temporary:
        write_film(temporary, pages, size, clip, advance)
