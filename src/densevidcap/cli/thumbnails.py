"""Small pictures in a terminal: two pixels a character, one above the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

    from densevidcap.cli.console import Console
    from densevidcap.data.clip import Clip
    from densevidcap.records import UInt8Array

WIDTH = 24
"""Characters of a picture: enough to recognise a scene by its light and colours."""


def sample_strip(clip: Clip, console: Console) -> list[UInt8Array]:
    """As many pictures as fit side by side; none if the console shows no colours."""
    from densevidcap.data.sampling import Sampling

    if not console.is_terminal or console.color_system not in ("256", "truecolor"):
        return []
    # Rows come in pairs, and none in more than a square.
    height = 2 * max(1, round(WIDTH * min(1.0, clip.info.height / clip.info.width) / 2))
    chosen = Sampling(frames=max(1, console.width // (WIDTH + 1))).choose(clip.times())
    return [image for _, image in clip.pick(chosen.tolist(), (WIDTH, height))]


def draw_strip(pictures: list[UInt8Array]) -> Text:
    """(H, W, 3) each, side by side."""
    from rich.text import Text

    strip = Text()
    for row in range(0, len(pictures[0]), 2):
        for picture in pictures:
            for above, below in zip(picture[row].tolist(), picture[row + 1].tolist(), strict=True):
                strip.append("▀", f"{_name(above)} on {_name(below)}")
            strip.append(" ")
        strip.append("\n")
    return strip


def _name(pixel: list[int]) -> str:
    return "rgb({},{},{})".format(*pixel)
