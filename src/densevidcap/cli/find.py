"""`densevidcap find`: which clips of a library fit a question, when and where."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from densevidcap.cli.clips import OVERWRITE, show_progress
from densevidcap.cli.printing import echo

if TYPE_CHECKING:
    from densevidcap.library.search import Answer


@click.command("find")
@click.argument("library", type=click.Path(path_type=Path))
@click.argument("question")
@click.option("-n", "most", type=click.IntRange(1), default=10, show_default=True, help="Answers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of lines.")
@click.option(
    "--playlist",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the answers as a playlist (.m3u) that plays just them.",
)
@click.option(
    "--sheet",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a page (.html) with a picture of each answer and its box.",
)
@OVERWRITE
def command(
    library: Path,
    question: str,
    most: int,
    as_json: bool,
    playlist: Path | None,
    sheet: Path | None,
    overwrite: bool,
) -> None:
    """Clips of LIBRARY that fit the QUESTION best, each with its time, its place and the reasons.

    Looked through are the sentences, the words that regions show, whether or not a sentence says
    them, and, with the extra `meaning`, what the sentences mean. Exit code 1 if nothing fits.
    """
    from densevidcap.library.search import Finder
    from densevidcap.library.store import Library
    from densevidcap.outputs import Inputs, check_outputs

    opened = Library(library)
    files = [place for _, place in opened.list_files()]
    check_outputs([path for path in (playlist, sheet) if path], Inputs(clips=files), overwrite)
    with show_progress() as progress:
        task = progress.add_task("Reading new clips", total=None)
        with Finder(opened, advance=lambda: progress.advance(task)) as finder:
            answers = finder.find(question, most)
        if sheet is not None:
            from densevidcap.library.sheet import write_sheet

            task = progress.add_task("Drawing", total=len(answers))
            write_sheet(sheet, question, answers, overwrite, lambda: progress.advance(task))
    if playlist is not None:
        _write_playlist(playlist, answers, overwrite)
    for path in (playlist, sheet):
        if path is not None:
            echo(path, err=True)
    if as_json:
        echo(json.dumps([answer.to_dict() for answer in answers], indent=1))
    else:
        for rank, answer in enumerate(answers, start=1):
            _print(rank, answer)
    if not answers:
        echo(f"densevidcap: {library}: nothing fits '{question}'", err=True)
        sys.exit(1)


def _print(rank: int, answer: Answer) -> None:
    from densevidcap.cli.view import name_place
    from densevidcap.export.sets import name_time

    where = "" if answer.box is None else f", {name_place(answer.box)}"
    echo(f"{rank:3}  {answer.clip}  {name_time(answer.time)}{where}")
    reasons = [f"{word} {likely:.0%}" for word, likely in answer.words]
    if answer.sentence is not None:
        reasons.append(f'"{answer.sentence}" {answer.confidence:.0%}')
    span = f"{name_time(answer.start)} to {name_time(answer.end)}"
    echo(f"     {span}: {'  '.join(reasons)}")


def _write_playlist(path: Path, answers: list[Answer], overwrite: bool) -> None:
    """VLC and its like take start and end from the options before each path."""
    from densevidcap.data.text import one_line
    from densevidcap.files import replacing

    lines = ["#EXTM3U"]
    for answer in answers:
        title = answer.sentence or " ".join(word for word, _ in answer.words)
        lines += [
            f"#EXTINF:{answer.end - answer.start:.0f},{one_line(answer.name)}: {one_line(title)}",
            f"#EXTVLCOPT:start-time={answer.start:.3f}",
            f"#EXTVLCOPT:stop-time={answer.end:.3f}",
            answer.clip,
        ]
    with replacing(path, overwrite) as temporary:
        text = "\n".join(lines) + "\n"
        temporary.write_text(text, encoding="utf-8", errors="surrogateescape")
