"""`densevidcap find`: which clips of a library fit a question, or look like another, and when."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from densevidcap.cli.clips import OVERWRITE, show_progress
from densevidcap.cli.printing import echo

if TYPE_CHECKING:
    from densevidcap.library.search import Answer
    from densevidcap.outputs import Inputs
    from densevidcap.types import Box


def _parse_time(_: object, __: object, given: str | None) -> float | None:
    """Seconds, or hh:mm:ss as answers have it."""
    if given is None:
        return None
    seconds = 0.0
    try:
        *before, last = given.split(":")
        for part in before:
            seconds = 60 * (seconds + int(part))
        seconds += float(last)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf") or given.count(":") > 2:
        raise click.BadParameter(f"'{given}' is no time; give seconds or hh:mm:ss, as in 1:05.5")
    return seconds


def _parse_box(_: object, __: object, given: str | None) -> Box | None:
    from densevidcap.types import Box

    if given is None:
        return None
    try:
        left, top, right, bottom = map(float, given.split(","))
        return Box(left, top, right, bottom)
    except ValueError:
        raise click.BadParameter(
            f"'{given}' is no box; give left,top,right,bottom from 0 to 1, as in 0.2,0.4,0.5,0.9"
        ) from None


@click.command("find")
@click.argument("library", type=click.Path(path_type=Path))
@click.argument("question", required=False)
@click.option("--like", metavar="CLIP", help="Instead of a question: what looks like this clip,")
@click.option(
    "--at",
    metavar="TIME",
    callback=_parse_time,
    help="or like it at that time (seconds or hh:mm:ss),",
)
@click.option(
    "--box",
    metavar="BOX",
    callback=_parse_box,
    help="or like that part of its picture (left,top,right,bottom from 0 to 1).",
)
@click.option("-n", "most", type=click.IntRange(1), default=10, show_default=True, help="Answers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of lines.")
@click.option(
    "--playlist",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the answers as a playlist that plays just them (.m3u), or as an edit list for"
    " cutting programs (.edl, CMX 3600).",
)
@click.option(
    "--sheet",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a page (.html) with a picture of each answer and its box.",
)
@click.option(
    "--cut",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Cut each answer out of its clip, as a film with its sound.",
)
@click.option(
    "--lead",
    type=click.FloatRange(0, 3600),
    default=0.5,
    show_default=True,
    help="Seconds before and after each answer that are cut with it.",
)
@OVERWRITE
def command(
    library: Path,
    question: str | None,
    like: str | None,
    at: float | None,
    box: Box | None,
    most: int,
    as_json: bool,
    playlist: Path | None,
    sheet: Path | None,
    cut: Path | None,
    lead: float,
    overwrite: bool,
) -> None:
    """Clips of LIBRARY that fit the QUESTION best, each with its time, its place and the reasons.

    Looked through are the sentences, the words that regions show, whether or not a sentence says
    them, and, with the extra `meaning`, what the sentences mean. With --like, it is how clips look.
    After a word that is seen stands the chance that it is, anywhere in those seconds; after a
    sentence the chance that all of it is right.
    Exit code 1 if nothing fits, or an answer could not be cut.
    """
    from densevidcap.library.likeness import find_alike
    from densevidcap.library.playlist import check_ending, write_playlist
    from densevidcap.library.search import Finder
    from densevidcap.library.store import Library
    from densevidcap.outputs import Inputs, check_outputs

    if (question is None) == (like is None):
        raise click.UsageError("ask a QUESTION, or name a clip with --like")
    if like is None and (at is not None or box is not None):
        raise click.UsageError("--at and --box need --like CLIP")
    title = question if like is None else f"like {like}"
    assert title is not None
    opened = Library(library)
    inputs = Inputs(clips=[place for _, place in opened.list_files()])
    if playlist is not None:
        check_ending(playlist)
    check_outputs([path for path in (playlist, sheet) if path], inputs, overwrite)
    written: list[Path] = []
    missing: list[str] = []
    with show_progress() as progress:
        task = progress.add_task("Reading new clips", total=None)
        with Finder(opened, advance=lambda: progress.advance(task)) as finder:
            if like is None:
                answers = finder.find(title, most)
            else:
                answers = find_alike(finder, like, at, box, most)
        if sheet is not None:
            from densevidcap.library.sheet import write_sheet

            task = progress.add_task("Drawing", total=len(answers))
            write_sheet(sheet, title, answers, overwrite, lambda: progress.advance(task))
            written.append(sheet)
        if playlist is not None:
            missing += map(str, write_playlist(playlist, title, answers, overwrite))
            written.append(playlist)
        if cut is not None and answers:
            task = progress.add_task("Cutting", total=len(answers))
            written += _cut(
                answers, cut, lead, inputs, overwrite, missing, lambda: progress.advance(task)
            )
    for path in written:
        echo(path, err=True)
    for line in dict.fromkeys(missing):
        echo(f"densevidcap: left out: {line}", err=True)
    if as_json:
        echo(json.dumps([answer.to_dict() for answer in answers], indent=1))
    else:
        for rank, answer in enumerate(answers, start=1):
            _print(rank, answer, like is not None)
    if not answers:
        echo(f"densevidcap: {library}: nothing {_name_failure(question, like)}", err=True)
    if missing or not answers:
        sys.exit(1)


def _name_failure(question: str | None, like: str | None) -> str:
    return f"fits '{question}'" if like is None else f"looks like {like}"


def _cut(
    answers: list[Answer],
    folder: Path,
    lead: float,
    inputs: Inputs,
    overwrite: bool,
    missing: list[str],
    advance: Callable[[], None],
) -> list[Path]:
    """The films; of clips that are gone or damaged, the reason is in `missing`."""
    from densevidcap.errors import ClipError
    from densevidcap.files import writing
    from densevidcap.library.cutting import cut_answer, name_cuts
    from densevidcap.outputs import check_outputs

    names = name_cuts(answers, folder)
    check_outputs(names, inputs, overwrite)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    written = []
    for answer, path in zip(answers, names, strict=True):
        try:
            cut_answer(answer, path, lead, overwrite)
            written.append(path)
        except ClipError as error:
            missing.append(str(error))
        advance()
    return written


def _print(rank: int, answer: Answer, is_like: bool) -> None:
    from densevidcap.cli.view import name_place
    from densevidcap.export.sets import name_time

    where = "" if answer.box is None else f", {name_place(answer.box)}"
    near = f", likeness {answer.score:.2f}" if is_like else ""
    # A studio keeps what was dropped under names of its own.
    name = "" if answer.clip.endswith(answer.name) else f"{answer.name}: "
    echo(f"{rank:3}  {name}{answer.clip}  {name_time(answer.time)}{where}{near}")
    span = f"{name_time(answer.start)} to {name_time(answer.end)}"
    echo(f"     {span}: {'; '.join(answer.reasons)}")
