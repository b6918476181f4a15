"""A library is filled: what is done is found, the rest is described, and each is kept at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple

from densevidcap.data.clip import open_clip
from densevidcap.errors import ClipError
from densevidcap.library.describing import Crew, Described, Describer, describe_all
from densevidcap.library.identity import identify, stamp
from densevidcap.library.inputs import Named
from densevidcap.library.shown import WordList
from densevidcap.library.store import Entry, Library, Source, name_path
from densevidcap.progress import Progress
from densevidcap.types import DenseCaptions


@dataclass(frozen=True)
class Plan:
    """What is left to do."""

    todo: tuple[Named, ...]
    done: int
    """How many of those asked for are done already."""


class Tally(NamedTuple):
    """How a run ended."""

    captioned: int
    repeated: int
    """Files with the content of another one, which were not captioned again."""
    failed: tuple[str, ...]


def plan(
    library: Library, clips: Sequence[Named], recipe: str, overwrite: bool, progress: Progress
) -> Plan:
    """Compare the clips with the library: files that it does not know are read for it.

    With `overwrite` nothing counts as done.
    """
    if overwrite:
        return Plan(tuple(clips), 0)
    # Before the first clip is done no file can be one, and none has to be read for that.
    is_new = next(library.identities(), None) is None
    todo = []
    advance = progress.count("Looking for what is done", len(clips))
    for clip in clips:
        if is_new or not _is_done(library, clip, recipe):
            todo.append(clip)
        advance()
    return Plan(tuple(todo), len(clips) - len(todo))


def _is_done(library: Library, clip: Named, recipe: str) -> bool:
    try:
        source = recognise(library, clip)
    except ClipError:
        # It fails again when its turn comes, and is named then.
        return False
    if source.identity is None or not library.is_done(source.identity, recipe):
        return False
    library.note(source)
    return True


def recognise(library: Library, clip: Named) -> Source:
    """Which clip it is, from what is known of the file or else from its content."""
    opened = open_clip(clip.source)
    path, now = name_path(clip.source), stamp(opened)
    known = library.sources.get(path)
    if known is None or known.stamp != now or known.identity is None:
        return Source(path, clip.name, now, identify(opened))
    return replace(known, name=clip.name, failed=None)


def caption_clips(
    library: Library,
    todo: Iterable[Named],
    describer: Describer,
    progress: Progress,
    tell: Callable[[Named, DenseCaptions], None] = lambda *_: None,
    crew: Crew = describe_all,
    fail_fast: bool = False,
) -> Tally:
    """Describe clips and keep each as soon as it is done; whoever calls holds the library.

    `tell` is called with each clip that is kept. With `fail_fast` the first failure is raised.
    """
    recipe, lexicon = describer.recipe, describer.lexicon
    named = {clip.source: clip for clip in todo}
    advance = progress.count("Captioning", len(named))
    made: set[str] = set()
    captioned = repeated = 0
    failed = []

    def list_new() -> Iterable[str]:
        """Leaves out files whose content was captioned in this run."""
        nonlocal repeated
        for source, clip in named.items():
            try:
                known = recognise(library, clip) if made else None
            except ClipError:
                known = None
            if known is not None and known.identity in made:
                library.note(known)
                repeated += 1
                advance()
            else:
                yield source

    with closing(crew(describer, list_new())) as outcomes:
        for source, outcome in outcomes:
            clip = named[source]
            if isinstance(outcome, Described):
                keep(library, clip, outcome, recipe, lexicon)
                made.add(outcome.identity)
                captioned += 1
                for line in outcome.warned:
                    progress.say(line)
                tell(clip, library.captions(outcome.identity, source))
            else:
                failed.append(clip.name)
                _note_failure(library, clip, outcome)
                if fail_fast:
                    raise outcome
                progress.say(str(outcome))
            advance()
    return Tally(captioned, repeated, tuple(failed))


def keep(library: Library, clip: Named, found: Described, recipe: str, lexicon: WordList) -> None:
    """Its words and its result are on the disk before the library says whose they are."""
    captions = replace(found.captions, source=clip.name)
    library.write(Entry(found.identity, recipe, captions, found.seconds), found.words, lexicon)
    now = stamp(open_clip(clip.source))
    library.note(Source(name_path(clip.source), clip.name, now, found.identity))


def _note_failure(library: Library, clip: Named, error: ClipError) -> None:
    path = name_path(clip.source)
    try:
        now = stamp(open_clip(clip.source))
    except ClipError:
        now = ""
    library.note(Source(path, clip.name, now, failed=str(error)))
