"""Captions of a clip for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from densevidcap.cli.console import Console
from densevidcap.cli.places import sketch_way
from densevidcap.cli.thumbnails import draw_strip
from densevidcap.drawing.colours import colour_of

if TYPE_CHECKING:
    from densevidcap.records import Caption, DenseCaptions, UInt8Array

BAR = 8
"""Characters of full confidence."""


def print_captions(
    console: Console, captions: DenseCaptions, pictures: Sequence[UInt8Array], story: str | None
) -> None:
    """Sentences shot by shot, by rank; each in the colour of its box, with its evidence below."""
    from densevidcap.export.lanes import assign_lanes

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    lanes = assign_lanes(captions.captions)
    for rank in _order(captions):
        _add(table, rank, captions[rank], "rgb({},{},{})".format(*colour_of(lanes[rank]).rgb))
    parts: list[RenderableType] = [_head(captions)]
    if pictures:
        parts.append(draw_strip(list(pictures)))
    parts.append(table)
    if story:
        parts.append(Padding(Text(story, "italic"), (1, 0, 0, 0)))
    console.print(Padding(Group(*parts), (0, 0, 1, 0)))


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


def _head(captions: DenseCaptions) -> Text:
    about = f"{captions.duration:.1f} s, {captions.width} × {captions.height}"
    return Text.assemble((Path(captions.source).name, "bold"), "  ", (about, "dim"))


def _add(table: Table, rank: int, caption: Caption, colour: str) -> None:
    filled = round(BAR * caption.confidence)
    bar = Text.assemble(
        ("━" * filled, colour),
        ("─" * (BAR - filled), "bright_black"),
        (f" {caption.confidence:4.0%}", "dim"),
    )
    words = Text.assemble((caption.text, f"bold {colour}"), "\n", _list_evidence(caption))
    span = f"{caption.start:.1f}-{caption.end:.1f} s"
    way = Text(sketch_way(caption.boxes), colour)
    table.add_row(Text(str(rank + 1), colour), bar, words, Text(span, "dim"), way)


def _list_evidence(caption: Caption) -> Text:
    """Words with their probability; those without evidence with a question mark."""
    shown = [f"{each.word} {each.probability:.0%}" for each in caption.evidence]
    doubted = [f"{word} ?" for word in caption.unsupported]
    return Text(
        "  ".join(shown + doubted).replace(" ", "\u00a0").replace("\u00a0\u00a0", "  "), "dim"
    )
