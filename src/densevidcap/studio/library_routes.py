"""Questions about a whole library, and what a person says of its clips."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, HTTPException, Query

from densevidcap.errors import ClipError, CorpusError
from densevidcap.studio import librarian
from densevidcap.studio.answers import Answers, Cards, Result, Training
from densevidcap.studio.jobs import Job
from densevidcap.studio.librarian import Show, Sort
from densevidcap.studio.routes import Count, Diversity, Sure
from densevidcap.studio.routing import Key, Open, faults
from densevidcap.studio.shelf import is_there
from densevidcap.studio.studio import Studio, refusing

MOST_CARDS = 200
MOST_ANSWERS = 100
LONGEST = 1000
"""Characters of a sentence or a question."""

router = APIRouter(prefix="/api")

Said = Annotated[str, Query(min_length=1, max_length=LONGEST, description="The sentence.")]


@router.get("/library", responses=faults(404, 409))
async def list_library(
    studio: Open,
    words: Annotated[str, Query(max_length=LONGEST, description="In names or sentences.")] = "",
    sort: Sort = "new",
    show: Show = "all",
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    most: Annotated[int, Query(ge=1, le=MOST_CARDS)] = 48,
) -> Cards:
    """A page of the library's clips."""
    asked = words, sort, show, offset, most
    return Cards(**await _look_up(studio, librarian.list_cards, *asked))


@router.get("/find", responses=faults(404, 409))
async def find(
    studio: Open,
    question: Annotated[str, Query(min_length=1, max_length=LONGEST)],
    most: Annotated[int, Query(ge=1, le=MOST_ANSWERS)] = 24,
) -> Answers:
    """When and where clips show or say it, as `densevidcap find` answers."""
    return Answers(**await _look_up(studio, librarian.find, question, most))


async def _look_up(studio: Studio, function: Any, *asked: Any) -> dict[str, Any]:
    shelf = studio.need_shelf()
    known = shelf.folder, await run_sync(lambda: shelf.revision)
    try:
        answer: dict[str, Any] = await studio.librarian.run(function, *known, *asked)
    except (CorpusError, ClipError) as error:
        raise HTTPException(409, str(error)) from None
    return answer


@router.post("/clips/{id}/look", status_code=202, responses=faults(404, 409, 410))
async def look_again(studio: Open, key: Key) -> Job:
    """Caption a library's clip again with the studio's model, for word maps and other sentences.

    Corrections stay.
    """
    studio.need_shelf()
    shown = await run_sync(studio.find_done, key)
    if not is_there(shown.files.source):
        raise HTTPException(409, f"{shown.name}: its file is gone; drop it here again")
    await run_sync(studio.jobs.drop_done, key)
    await run_sync(studio.jobs.add, key, shown.name, *studio.room)
    return await run_sync(studio.find, key)


@router.post("/clips/{id}/restore", responses=faults(404, 409))
def restore_clip(studio: Open, key: Key) -> Job:
    """Bring back a library's clip that was deleted."""
    shelf = studio.need_shelf()
    if not shelf.has_deleted(key):
        raise HTTPException(404, "not among the clips that were deleted")
    refusing(shelf.restore, key)
    return studio.find(key)


@router.put("/clips/{id}/correction", responses=faults(404, 409, 410))
def correct_sentence(
    studio: Open,
    key: Key,
    said: Said,
    text: Annotated[
        str | None,
        Query(max_length=LONGEST, description="Instead; the same approves, none leaves it out."),
    ] = None,
    k: Count = None,
    diversity: Diversity = None,
    sure: Sure = None,
) -> Result:
    """Keep what a person says beside what the model said; the answer is the result anew."""
    shelf, shown = studio.need_shelf(), studio.find_done(key)
    if text is not None and not text.strip():
        raise HTTPException(409, "the sentence is empty; leave it out instead")
    captions = shown.choose(k, diversity, sure)
    refusing(shelf.correct, key, said, text and text.strip(), captions)
    return shown.describe(shown.choose(k, diversity, sure))


@router.delete("/clips/{id}/correction", responses=faults(404, 409, 410))
def undo_correction(
    studio: Open,
    key: Key,
    said: Said,
    k: Count = None,
    diversity: Diversity = None,
    sure: Sure = None,
) -> Result:
    """Let the model's own sentence stand again."""
    shelf, shown = studio.need_shelf(), studio.find_done(key)
    if not refusing(shelf.uncorrect, key, said):
        raise HTTPException(404, "nobody put that sentence right")
    return shown.describe(shown.choose(k, diversity, sure))


@router.post("/training", responses=faults(404, 409))
def prepare_training(studio: Open) -> Training:
    """Write a manifest of what people said, and tell the command that learns from it."""
    shelf = studio.need_shelf()
    lessons = refusing(shelf.write_lessons)
    return Training(
        manifest=str(lessons.path),
        clips=lessons.clips,
        sentences=lessons.sentences,
        missing=lessons.missing,
        command=lessons.command,
        then=shlex.join(
            ["densevidcap", "serve", str(shelf.folder.absolute()), "--model", str(lessons.model)]
        ),
    )
