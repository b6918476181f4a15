"""The questions that a page, or a script, asks the studio."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated, Any, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from fastapi.responses import FileResponse, StreamingResponse
from starlette.background import BackgroundTask

from densevidcap import __version__
from densevidcap.errors import ClipError, ClipTooLargeError, CorpusError
from densevidcap.export import ENDINGS
from densevidcap.export.report.footage import PLAYED
from densevidcap.pipeline.captions import choose_captions
from densevidcap.studio import tasks
from densevidcap.studio.answers import Facts, Fault, HeatMap, Result
from densevidcap.studio.jobs import Job
from densevidcap.studio.limits import DAY, MEBIBYTE
from densevidcap.studio.studio import Studio
from densevidcap.studio.uploads import clean_name, collect, parse_captions, receive

LOOK = 0.2
"""Seconds between two looks at a job that somebody watches."""
MOST_SENTENCES = 20
MOST_TEXT = 16 * MEBIBYTE
"""Of captions made earlier."""


def _studio(request: Request) -> Studio:
    studio: Studio = request.app.state.studio
    return studio


def _faults(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": Fault} for status in (401, 403, *statuses)}


Open = Annotated[Studio, Depends(_studio)]
Key = Annotated[str, Path(alias="id", max_length=64, description="As posting it answered.")]
Count = Annotated[int, Query(ge=1, le=MOST_SENTENCES, description="Sentences of each segment.")]
Diversity = Annotated[float, Query(ge=0, le=1, description="What sameness costs.")]
Format = Literal["json", "vtt", "srt", "mp4", "html", "coco", "cvat", "fiftyone"]

router = APIRouter(prefix="/api")


@router.get("/studio", responses=_faults())
def tell_facts(studio: Open) -> Facts:
    """What this studio takes and makes."""
    return Facts(
        version=__version__,
        formats=ENDINGS,
        limits=studio.limits.describe(),
        max_bytes=studio.limits.max_bytes,
        max_days=studio.limits.max_age / DAY,
    )


@router.get("/clips", responses=_faults())
def list_clips(studio: Open) -> list[Job]:
    """All that are kept, the newest first."""
    return studio.jobs.list_all()


@router.post(
    "/clips",
    status_code=202,
    responses=_faults(400, 409, 413, 415, 429),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"format": "binary"}}},
        }
    },
)
async def post_clip(
    request: Request,
    studio: Open,
    name: Annotated[str, Query(min_length=1, max_length=255, description="What to call it.")],
) -> Job:
    """Queue the clip in the request's body: a video, GIF or picture."""
    name = clean_name(name)
    key = secrets.token_urlsafe(16)
    files = studio.data.clip(key)
    source = files.name_source(name)
    kept = False
    try:
        async with studio.arrive(key):
            await receive(request.stream(), source, studio.limits.max_bytes)
            await studio.doorman.run(tasks.inspect, source, studio.limits.decoding)
            room = studio.limits.max_waiting, studio.limits.max_clips
            kept = await run_sync(studio.jobs.add, key, name, *room)
    except ClipTooLargeError:
        reason = f"{name}: too large; what fits is {studio.limits.describe()}"
        raise HTTPException(413, reason) from None
    except ClipError as error:
        raise HTTPException(415, str(error).replace(str(source), name)) from None
    finally:
        if not kept:
            files.remove()
    if not kept:
        raise HTTPException(429, "other clips were faster; try again in a minute")
    return await run_sync(studio.find, key)


@router.get("/clips/{id}", responses=_faults(404, 410))
def show_clip(studio: Open, key: Key) -> Job:
    """How far a clip has come."""
    return studio.find(key)


@router.delete("/clips/{id}", status_code=204, responses=_faults(404))
def delete_clip(studio: Open, key: Key) -> None:
    """Forget a clip and all that was made of it, whatever its state."""
    if not studio.jobs.remove(key):
        raise HTTPException(404, "no such clip; it may have been deleted")
    studio.data.clip(key).remove()


@router.get(
    "/clips/{id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}, **_faults(404, 410)},
)
def watch_clip(studio: Open, key: Key) -> StreamingResponse:
    """Server-sent events: the clip again whenever it has come further, until it is over."""
    studio.find(key)
    return StreamingResponse(_follow(studio, key), media_type="text/event-stream")


async def _follow(studio: Studio, key: str) -> AsyncIterator[str]:
    told = None
    while told is None or not told.is_over:
        job = await run_sync(studio.jobs.find, key)
        if job is None:
            return
        if job != told:
            yield f"data: {json.dumps(asdict(job))}\n\n"
            told = job
        await asyncio.sleep(LOOK)


@router.get(
    "/clips/{id}/footage",
    response_class=FileResponse,
    responses={
        200: {"content": {"video/mp4": {}, "video/webm": {}}},
        **_faults(404, 409, 410, 416),
    },
)
def show_footage(studio: Open, key: Key) -> FileResponse:
    """The clip in a form that browsers play."""
    files, _ = studio.find_done(key)
    footage = files.footage
    size = footage.stat()
    media_type, _ = PLAYED[footage.suffix]
    return FileResponse(footage, media_type=media_type, stat_result=size)


@router.get("/clips/{id}/result", responses=_faults(404, 409, 410))
def show_result(studio: Open, key: Key, k: Count = 5, diversity: Diversity = 0.4) -> Result:
    """Its captions, chosen anew: without a look at the clip."""
    _, analysis = studio.find_done(key)
    return Result.of(choose_captions(analysis, k, diversity), analysis.segments)


@router.get("/clips/{id}/heatmap", responses=_faults(404, 409, 410))
def show_heat_map(
    studio: Open,
    key: Key,
    word: Annotated[str, Query(max_length=64)],
    time: Annotated[float, Query(ge=0, description="Seconds: of the segment around it.")] = 0,
) -> HeatMap:
    """Where, and how strongly, a word of the lexicon is seen."""
    _, analysis = studio.find_done(key)
    begun = [segment for segment in analysis.segments if segment.start <= time]
    segment = begun[-1] if begun else analysis.segments[0]
    try:
        return HeatMap.of(segment, word)
    except KeyError:
        raise HTTPException(404, f"'{word}' is not among the words looked for") from None


@router.get(
    "/clips/{id}/export/{format}",
    response_class=FileResponse,
    responses={
        200: {"content": {"application/octet-stream": {}}},
        **_faults(404, 409, 410, 413, 415),
    },
)
async def export_clip(
    studio: Open,
    key: Key,
    kind: Annotated[Format, Path(alias="format")],
    k: Count = 5,
    diversity: Diversity = 0.4,
) -> FileResponse:
    """Its captions as a file, the same ones that `result` shows."""
    files, analysis = await run_sync(studio.find_done, key)
    captions = choose_captions(analysis, k, diversity)
    made = studio.data.exports / f"{secrets.token_hex(8)}{ENDINGS[kind]}"
    try:
        await studio.scribe.run(
            tasks.export, captions, files.source, files.footage, kind, made, studio.limits.decoding
        )
    except ClipError as error:
        status = 413 if isinstance(error, ClipTooLargeError) else 415
        reason = str(error).replace(str(files.source), analysis.source)
        raise HTTPException(status, reason) from None
    return FileResponse(
        made,
        media_type="application/octet-stream",
        filename=f"{analysis.source}{ENDINGS[kind]}",
        background=BackgroundTask(made.unlink, missing_ok=True),
    )


@router.post(
    "/results",
    responses=_faults(400, 413, 415),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"type": "object"}}},
        }
    },
)
async def read_result(request: Request) -> Result:
    """A `.json` export made earlier, in the form of `result`; nothing is kept."""
    try:
        return Result.of(parse_captions(await collect(request.stream(), MOST_TEXT)))
    except ClipTooLargeError:
        raise HTTPException(413, "too large for a file of captions") from None
    except CorpusError as error:
        raise HTTPException(415, str(error)) from None
