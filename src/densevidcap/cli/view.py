"""Captions of a clip for the terminal: a table, thumbnails, places as arrows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from densevidcap.cli.console import Console
from densevidcap.data.text import name_span, time_code

if TYPE_CHECKING:
    from rich.text import Text

    from densevidcap.cli.console import Console
    from densevidcap.data.clip import Clip
    from densevidcap.types import Box, Caption, DenseCaptions, Span, UInt8Array


DOWN, ACROSS = ("top", "middle", "bottom"), ("left", "", "right")
ARROWS = ("↖↑↗", "←·→", "↙↓↘")
STOPS = 8
"""Arrows that sketch a way at most."""


def name_place(box: Box) -> str:
    """Where the box's centre lies: "top left", "middle", "middle right", ..."""
    row, column = _find_third(box)
    return f"{DOWN[row]} {ACROSS[column]}".strip()


def point_to(box: Box) -> str:
    """The same as an arrow from the frame's middle, or a dot."""
    row, column = _find_third(box)
    return ARROWS[row][column]


def sketch_way(boxes: Sequence[Box]) -> str:
    """Where a region-sequence is from start to end, in a few arrows."""
    from densevidcap.viz.canvas import choose_evenly

    return "".join(point_to(boxes[stop]) for stop in choose_evenly(len(boxes), STOPS))


def _find_third(box: Box) -> tuple[int, int]:
    """(row, column) of the box's centre."""
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    return min(2, int(3 * y)), min(2, int(3 * x))


WIDTH = 24
"""Characters of a picture: enough to recognise a scene by its light and colours."""


def sample_strip(clip: Clip, console: Console) -> list[UInt8Array]:
    """As many pictures as fit side by side; none if the console shows no colours."""
    from densevidcap.data.sampling import Sampling

    if (
        not clip.has_pictures
        or not console.is_terminal
        or console.color_system not in ("256", "truecolor")
    ):
        return []
    # Rows come in pairs, and none in more than a square.
    height = 2 * max(1, round(WIDTH * min(1.0, clip.info.height / clip.info.width) / 2))
    chosen = Sampling(frames=max(1, console.width // (WIDTH + 1))).choose(clip.times())
    return [each.image for each in clip.pick(chosen.tolist(), (WIDTH, height))]


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


BAR = 8
"""Characters of full confidence."""


def print_captions(
    console: Console, captions: DenseCaptions, pictures: Sequence[UInt8Array], story: str | None
) -> None:
    """Sentences shot by shot, by rank; each in the colour of its box, with its evidence below."""
    from densevidcap.viz.captions import assign_colours

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    colours = assign_colours(captions.captions)
    for rank in _order(captions):
        _add(table, rank, captions[rank], "rgb({},{},{})".format(*colours[rank]))
    parts: list[RenderableType] = [_head(captions)]
    if pictures:
        parts.append(draw_strip(list(pictures)))
    if captions.captions:
        parts.append(table)
    parts += [Text(_tell_silence(captions, span), "dim") for span in captions.silent]
    if story:
        parts.append(Padding(Text(story, "italic"), (1, 0, 0, 0)))
    console.print(Padding(Group(*parts), (0, 0, 1, 0)))


def print_scene(console: Console, span: Span, captions: Sequence[Caption]) -> None:
    """A scene of a film that is still being read: its time, and what is said of it."""
    from densevidcap.types import SILENCE

    table = _make_lines()
    times = Text(name_span(*span, is_film=True), "dim")
    for caption in captions:
        table.add_row(times, _draw_bar(caption, "white"), Text(caption.text, "bold"))
        times = Text()
    if not captions:
        table.add_row(times, Text(), Text(SILENCE, "dim"))
    console.print(table)


def print_outline(console: Console, captions: DenseCaptions, story: str | None) -> None:
    """What a film comes to when its scenes have been told: summary, chapters, and its story."""
    from densevidcap.pipeline.outline import list_chapters, summarise

    parts: list[RenderableType] = [_head(captions)]
    if summary := summarise(captions):
        parts.append(Padding(Text(summary), (1, 0)))
    if captions.chapters:
        table = _make_lines()
        for start, end, title, _ in list_chapters(captions):
            table.add_row(Text(name_span(start, end, is_film=True), "dim"), Text(), Text(title))
        parts.append(table)
    if story:
        parts.append(Padding(Text(story, "italic"), (1, 0, 0, 0)))
    console.print(Padding(Group(*parts), (1, 0)))


def _make_lines() -> Table:
    """Times, something short, and a text."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    return table


def _order(captions: DenseCaptions) -> list[int]:
    """Ranks, by time where captions do not overlap: those of one shot stay together, best first."""
    by_start = sorted(range(len(captions)), key=lambda rank: captions[rank].start)
    groups: list[list[int]] = []
    end = 0.0
    for rank in by_start:
        if not groups or captions[rank].start >= end:
            groups.append([])
        groups[-1].append(rank)
        end = max(end, captions[rank].end)
    return [rank for group in groups for rank in sorted(group)]


def _tell_silence(captions: DenseCaptions, span: tuple[float, float]) -> str:
    from densevidcap.types import SILENCE

    is_all = not captions.captions and len(captions.silent) == 1
    where = "" if is_all else f"{name_span(*span, bool(captions.scenes))}: "
    return where + SILENCE


def _head(captions: DenseCaptions) -> Text:
    size = f"{captions.width} × {captions.height}" if captions.width else "features"
    about = f"{captions.duration:.1f} s, {size}"
    if captions.scenes:
        counts = f"{len(captions)} sentences of {len(captions.scenes)} scenes"
        about = f"{time_code(captions.duration)}, {size}, {counts}"
    return Text.assemble((Path(captions.source).name, "bold"), "  ", (about, "dim"))


def _add(table: Table, rank: int, caption: Caption, colour: str) -> None:
    bar = _draw_bar(caption, colour)
    words = Text.assemble((caption.text, f"bold {colour}"), "\n", _list_evidence(caption))
    span = name_span(caption.start, caption.end, is_film=False)
    way = Text(sketch_way(caption.boxes), colour)
    table.add_row(Text(str(rank + 1), colour), bar, words, Text(span, "dim"), way)


def _draw_bar(caption: Caption, colour: str) -> Text:
    filled = round(BAR * caption.confidence)
    return Text.assemble(
        ("━" * filled, colour),
        ("─" * (BAR - filled), "bright_black"),
        (f" {caption.confidence:4.0%} {caption.verdict:6}", "dim"),
    )


def _list_evidence(caption: Caption) -> Text:
    """Words with their probability; those without evidence with a question mark."""
    shown = [f"{each.word} {each.probability:.0%}" for each in caption.evidence]
    doubted = [f"{word} ?" for word in caption.unsupported]
    return Text(
        "  ".join(shown + doubted).replace(" ", "\u00a0").replace("\u00a0\u00a0", "  "), "dim"
    )
