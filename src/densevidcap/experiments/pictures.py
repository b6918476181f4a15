"""Curves and bars of an experiment as a PNG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from densevidcap.errors import MissingExtraError
from densevidcap.files import replacing

if TYPE_CHECKING:
    from densevidcap.experiments.results import Picture

COLOURS = ("#9e2477", "#8a8a8a", "#1b7f8c", "#d98a00")


def draw_picture(picture: Picture, path: Path) -> None:
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise MissingExtraError("matplotlib", "train", "drawing a figure") from None

    figure = Figure(figsize=(4.8, 3.2), layout="constrained")
    axes = figure.add_subplot()
    axes.set_prop_cycle(color=COLOURS)
    if picture.bars:
        _draw_bars(axes, picture)
    else:
        for curve in picture.curves:
            axes.plot(curve.x, curve.y, marker=".", label=curve.name)
        whole = all(x.is_integer() for curve in picture.curves for x in curve.x)
        axes.xaxis.set_major_locator(MaxNLocator(integer=whole))
    axes.set_title(picture.title, loc="left", fontsize=10)
    axes.set_xlabel(picture.x)
    axes.set_ylabel(picture.y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
    axes.legend(frameon=False, fontsize=8)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)


def _draw_bars(axes: Any, picture: Picture) -> None:
    """One beside the other, each with its value above it."""
    width = 0.8 / len(picture.curves)
    for number, curve in enumerate(picture.curves):
        places = [place + number * width for place in curve.x]
        bars = axes.bar(places, curve.y, width, label=curve.name)
        axes.bar_label(bars, fmt="%.3f", fontsize=8)
    middle = width * (len(picture.curves) - 1) / 2
    ticks = [place + middle for place in range(len(picture.bars))]
    axes.set_xticks(ticks, picture.bars, fontsize=8)
    axes.margins(y=0.2)
