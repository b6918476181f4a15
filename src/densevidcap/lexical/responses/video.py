"""The whole clip under a word's responses, each picture at its own time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PIL import Image

from densevidcap.data.clip import Clip
from densevidcap.drawing.colours import PAPER
from densevidcap.drawing.video import fit_video, write_video
from densevidcap.lexical.responses.lettering import draw_title
from densevidcap.lexical.responses.overlay import ResponseMap
from densevidcap.records import UInt8Array


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
        page.paste(response.paint(image, response.at(seconds)), (0, band))
        return page

    pages = ((seconds, draw(seconds, image)) for seconds, image in clip.stream((width, height)))
    write_video(path, pages, (width, height + band), advance)
