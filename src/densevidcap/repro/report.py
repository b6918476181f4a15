"""docs/results.md: what all experiments found, beside the paper's figures."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from densevidcap.errors import CorpusError, MissingExtraError
from densevidcap.files import replacing
from densevidcap.metrics.captions import describe_evaluator
from densevidcap.outputs import Inputs, check_outputs
from densevidcap.repro.claims import count_verdicts, list_claims
from densevidcap.repro.definition import read_claims
from densevidcap.repro.results import RESULTS, Line, Result, Table

if TYPE_CHECKING:
    from densevidcap.repro.results import Picture


COLOURS = ("#9e2477", "#8a8a8a", "#1b7f8c", "#d98a00", "#3a5fcd", "#222222", "#6a9f2a", "#c0563b")
MARKERS = ".xs^"
"""Those of a curve whose colour stood before, one after the other."""
FEW = 4
"""Curves whose legend has room among them."""


def draw_picture(picture: Picture, path: Path) -> None:
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise MissingExtraError("matplotlib", "train", "drawing a figure") from None

    is_full = len(picture.curves) > FEW
    figure = Figure(figsize=(7.6 if is_full else 4.8, 3.2), layout="constrained")
    axes = figure.add_subplot()
    axes.set_prop_cycle(color=COLOURS)
    if picture.bars:
        _draw_bars(axes, picture)
    else:
        for number, curve in enumerate(picture.curves):
            marker = MARKERS[number // len(COLOURS) % len(MARKERS)]
            axes.plot(curve.x, curve.y, marker=marker, label=curve.name)
        whole = all(x.is_integer() for curve in picture.curves for x in curve.x)
        axes.xaxis.set_major_locator(MaxNLocator(integer=whole))
    axes.set_title(picture.title, loc="left", fontsize=10)
    axes.set_xlabel(picture.x)
    axes.set_ylabel(picture.y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
    beside = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
    axes.legend(frameon=False, fontsize=8, **(beside if is_full else {}))
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


HASH = 64
"""Digits of SHA-256."""
PICTURES = "pictures"
PAGE = "results.md"

HEAD = """\
# Results

Written by `densevidcap experiment --out docs/results --report docs` from what the experiments
below found; not to be edited. The paper's figures stand in parentheses after ours, or alone where
a system is quoted as published. The paper learned from 6,513 clips and measured 497, with other
networks: directions can agree, not figures. On 244 clips, the standard error of CIDEr is about
3.5.

## What became of the paper's claims

A claim **agrees** only where the 95% interval of the same pair of systems (paired bootstrap over
clips; BLEU and METEOR of each draw as of a set) lies on the paper's side in every metric, is
**opposite** where it lies on the other, and **undecided** otherwise, or where a control that can
tell nothing agrees too or was not measured. **Not run**: no figure yet, or none of today's
experiment. If a row does not say so, its interval is of one training of each system. From other
random numbers the same system comes out differently, by up to four points of BLEU@4 and six of
CIDEr, so what agrees may do so by luck. What the paper says once is counted once, whatever the
rows; what it does not say is not counted.
"""


def load_results(runs: Path) -> list[Result]:
    """All of a folder of runs, tables first."""
    results = [Result.load(path) for path in runs.glob(f"*/{RESULTS}")]
    if not results:
        raise CorpusError(f"{runs}: no results in it; run an experiment first")
    return sorted(
        results, key=lambda result: (not result.experiment.startswith("table"), result.experiment)
    )


def choose_current(results: Sequence[Result], definitions: Path) -> list[Result]:
    """Those that can answer today's claims."""
    return [result for result in results if result.is_current(definitions)]


def write_report(runs: Path, docs: Path, definitions: Path, overwrite: bool = False) -> Path:
    """The page and its pictures, from all results in the folder of runs."""
    results = load_results(runs)
    page = docs / PAGE
    drawn = [picture for result in results for picture in result.outcome.pictures]
    pictures = {docs / PICTURES / f"{picture.name}.png": picture for picture in drawn}
    check_outputs([page, *pictures], Inputs(), overwrite)
    for path, picture in pictures.items():
        draw_picture(picture, path)
    with replacing(page) as temporary:
        temporary.write_text("\n".join(write_page(results, definitions)), encoding="utf-8")
    return page


def write_page(results: Sequence[Result], definitions: Path) -> Iterator[str]:
    """The page's lines of Markdown."""
    claims = read_claims(definitions)
    current = choose_current(results, definitions)
    yield HEAD
    yield f"{count_verdicts(claims, current)}\n"
    yield from list_claims(claims, current)
    yield ""
    for result in results:
        yield from write_section(result)
        if result not in current:
            yield "**The experiment is defined otherwise today: run it again.**\n"
        for picture in result.outcome.pictures:
            yield f"![{picture.title}]({PICTURES}/{picture.name}.png)\n"
    yield "## Evaluator\n"
    yield from (f"- {name}: {value}" for name, value in describe_evaluator().items())
    yield ""


def write_section(result: Result) -> Iterator[str]:
    """An experiment's lines of Markdown."""
    yield f"## {result.title}\n"
    yield f"```\n{result.command}\n```\n"
    run = f" Run {result.run}." if result.run else " Made before runs had ids."
    yield f"{result.date}: {result.clips:,} clips, {result.trained:,} to learn from.{run}\n"
    for table in result.outcome.tables:
        yield from _write_table(table)
    yield from (f"- {note}" for note in result.notes)
    yield ""
    if result.origin:
        # Folded: few readers want it, and those that do want all of it.
        yield f"<details><summary>What run {result.run} was made from</summary><pre>"
        yield from (f"{_shorten(value)}  {html.escape(name)}" for name, value in result.origin)
        yield "</pre></details>\n"


def _shorten(value: str) -> str:
    """Of hashes the beginning; what else is told is told whole."""
    return value[:12] if len(value) == HASH else value


def _write_table(table: Table) -> Iterator[str]:
    if table.title:
        yield f"**{table.title}**\n"
    yield f"| | {' | '.join(table.columns)} |"
    yield f"|{' --- |' * (len(table.columns) + 1)}"
    digits = [_count_digits(table, column) for column in range(len(table.columns))]
    for line in table.lines:
        cells = (_write_cell(line, column, each) for column, each in enumerate(digits))
        yield f"| {line.name} | {' | '.join(cells)} |"
    yield ""


def _count_digits(table: Table, column: int) -> int:
    """After the point: none in a column of whole numbers, such as steps."""
    figures = (
        figure
        for line in table.lines
        for of_one in (line.ours, line.paper)
        for figure in of_one[column : column + 1]
    )
    return 0 if all(figure.is_integer() for figure in figures) else table.digits


def _write_cell(line: Line, column: int, digits: int) -> str:
    ours = [_round(line.ours[column], digits)] if line.ours else []
    printed = line.paper[column : column + 1]
    paper = [f"({_round(figure, digits)})" for figure in printed]
    return " ".join(ours + paper)


def _round(figure: float, digits: int) -> str:
    return f"{round(figure, digits) + 0.0:.{digits}f}"  # no "-0.0"
