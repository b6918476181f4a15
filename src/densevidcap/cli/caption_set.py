"""`densevidcap caption` of a set of clips: what it says before, while and after it is captioned."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import click

from densevidcap.cli.clips import keeping, list_clips
from densevidcap.cli.printing import echo

if TYPE_CHECKING:
    from densevidcap.export.sets import SetRow
    from densevidcap.library.describing import Crew, Describer
    from densevidcap.library.inputs import Listing, Named, Pictures
    from densevidcap.library.store import Library
    from densevidcap.types import DenseCaptions

Place = Literal["local", "ray"]
"""Where clips are captioned."""
EXPORTS = "export"
"""Folder of a library for files that are made of it."""


@dataclass(frozen=True)
class SetRun:
    """What is captioned, how, and where it goes."""

    listing: Listing
    library: Path
    model: Path | None
    settings: Mapping[str, Any]
    kinds: Sequence[str]
    overwrite: bool
    fail_fast: bool
    workers: int | None
    """As many as there should be, or None."""
    on: Place = "local"
    address: str | None = None
    """Of a cluster."""


def list_asked(
    asked: Sequence[str],
    library: Path | None,
    include: Sequence[str],
    exclude: Sequence[str],
    pictures: Pictures,
) -> Listing:
    """The clips of the command line; folders that are libraries are not looked into."""
    from densevidcap.library.inputs import Patterns, list_set
    from densevidcap.library.store import is_library

    own = None if library is None else library.absolute()
    patterns = Patterns(include, exclude)
    return list_set(asked, patterns, pictures, lambda f: is_library(f) or f.absolute() == own)


def choose_library(listing: Listing) -> Path | None:
    """Where results go if nobody says: nowhere, or for one folder of clips, FOLDER.library here."""
    from densevidcap.library.inputs import name_folder

    if not listing.folders:
        return None
    if len(listing.folders) > 1:
        raise click.UsageError("several folders of clips: name one for all results with --library")
    return Path(f"{name_folder(listing.folders[0]) or 'clips'}.library")


def caption_set(run: SetRun, split: str | None, refused: Sequence[str]) -> NoReturn:
    """Ends with exit code 1 if a clip failed, or is missing in a file about the set."""
    if refused:
        raise click.UsageError(
            f"{' '.join(refused)}: not with a library; `densevidcap export {run.library}` writes"
            " such files of it"
        )
    from densevidcap.cli.console import Console
    from densevidcap.cli.set_view import SetView

    clips = list_named(run.listing, split)
    tell_left_out(run.listing)
    with Console(stderr=True).status("Loading the model"):
        from densevidcap.library.captioning import caption_clips, plan
        from densevidcap.library.describing import Describer
        from densevidcap.library.store import Library

        if run.on == "ray":
            from densevidcap.library.on_ray import need_ray

            need_ray()
        describer = Describer(run.model, run.settings)
        recipe = describer.recipe
    library, view = Library.make(run.library), SetView()
    counted = 0

    def tell(clip: Named, captions: DenseCaptions) -> None:
        nonlocal counted
        counted += 1
        first = f"{captions[0].text} ({captions[0].confidence:.0%})" if len(captions) else "-"
        with view.aside():
            echo(f"{clip.name}: {first}")

    def tell_kept() -> str:
        return f"{counted} clips are done and kept; run it again to go on"

    with library.writing_alone(), keeping(tell_kept):
        with view.showing():
            planned = plan(library, clips, recipe, run.overwrite, view)
        announce(library, describer, planned.todo, planned.done)
        crew = choose_crew(run, len(planned.todo))
        with view.showing():
            try:
                tally = caption_clips(
                    library, planned.todo, describer, view, tell, crew, run.fail_fast
                )
            finally:
                library.write_failures()
        missing = []
        for kind in run.kinds:
            missing += export_set(library, kind, run.library / EXPORTS, overwrite=True)
        tell_missing(missing)
    told = [f"{tally.captioned:,} captioned"]
    if planned.done:
        told.append(f"{planned.done:,} done before")
    if tally.repeated:
        told.append(f"{tally.repeated:,} with the content of another")
    if tally.failed:
        from densevidcap.data.manifest import name_some

        told.append(f"{len(tally.failed):,} failed, as told above: {name_some([*tally.failed])}")
    echo(f"densevidcap: {run.library}: {', '.join(told)}", err=True)
    sys.exit(1 if tally.failed or missing else 0)


def choose_crew(run: SetRun, clips: int) -> Crew:
    if run.on == "ray":
        from densevidcap.library.on_ray import describe_on_ray

        return partial(describe_on_ray, workers=run.workers, address=run.address)
    from densevidcap.library.describing import describe_all
    from densevidcap.workers import count_workers

    return partial(describe_all, workers=run.workers or count_workers(clips))


def list_named(listing: Listing, split: str | None) -> list[Named]:
    """Manifests become their clips, under their ids."""
    from densevidcap.library.inputs import Named

    manifests = [clip for clip in listing.clips if ".jsonl" in Path(clip.source).suffixes]
    if split is not None and not manifests:
        raise click.UsageError("--split needs a manifest (.jsonl) among the clips")
    named = []
    for clip in listing.clips:
        if clip in manifests:
            inside = list_clips([clip.source], split)
            named += [Named(source, name) for name, source in inside.items()]
        else:
            named.append(clip)
    return named


def tell_left_out(listing: Listing) -> None:
    from densevidcap.data.manifest import name_some

    if listing.left_out:
        pictures = name_some([*listing.left_out])
        echo(
            f"densevidcap: {len(listing.left_out):,} pictures beside videos are left out"
            f" (--pictures says otherwise): {pictures}",
            err=True,
        )
    if listing.missed:
        files = "file" if listing.missed == 1 else "files"
        echo(f"densevidcap: {listing.missed:,} {files} left out by patterns", err=True)


def announce(library: Library, describer: Describer, todo: Sequence[Named], done: int) -> None:
    """How many clips, how long they are, and how long it will take."""
    from densevidcap.library.estimate import estimate_length, estimate_time, name_duration

    before = f", {done:,} done before" if done else ""
    if not todo:
        echo(f"densevidcap: nothing to do{before}", err=True)
        return
    length = estimate_length(todo)
    lasting = "of unknown length" if length is None else f"{name_duration(length)} in all"
    seconds = estimate_time(library, describer, len(todo), length or 0.0)
    echo(
        f"densevidcap: {len(todo):,} clips to caption, {lasting}{before};"
        f" about {name_duration(seconds)} to go",
        err=True,
    )


def export_set(
    library: Library,
    kind: str,
    out: Path,
    columns: str | None = None,
    beside: bool = False,
    overwrite: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> list[str]:
    """Files of all clips that are done, whose names they are told by.

    Returned is why clips were left out: they are gone, or what is known of them is damaged.
    """
    from densevidcap.errors import CorpusError
    from densevidcap.export.sets import SetRow, write_set

    files = library.list_files()
    missing: list[str] = []

    def rows() -> Iterator[SetRow]:
        for source, place in files:
            assert source.identity is not None
            try:
                captions = library.captions(source.identity, place)
            except CorpusError as error:
                missing.append(f"{source.name}: {error}")
                advance()
                continue
            yield SetRow(source.name, place, captions)

    places = [(source.name, place) for source, place in files]
    paths = write_set(rows, kind, out, columns, beside, overwrite, advance, places, missing)
    for path in paths[:1] if len(paths) > 10 else paths:
        echo(path, err=True)
    if len(paths) > 10:
        echo(f"and {len(paths) - 1:,} more", err=True)
    return missing


def tell_missing(missing: Sequence[str]) -> None:
    """Each once, whatever number of formats it is missing in."""
    for line in dict.fromkeys(missing):
        echo(f"densevidcap: left out: {line}", err=True)
