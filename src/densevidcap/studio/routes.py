"""The questions that a page, or a script, asks the studio."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Coroutine
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from densevidcap import __version__
from densevidcap.errors import ClipError, ClipTooLargeError, CorpusError
from densevidcap.export import ENDINGS
from densevidcap.export.report.footage import PLAYED
from densevidcap.pipeline.captions import choose_captions
from densevidcap.studio import sandbox
from densevidcap.studio.answers import Facts, Fault, Health, HeatMap, Result
from densevidcap.studio.jobs import Job
from densevidcap.studio.limits import DAY, KIBIBYTE
from densevidcap.studio.places import Place
from densevidcap.studio.studio import Studio
from densevidcap.studio.uploads import (
    ManyCaptionsError,
    SlowError,
    clean_name,
    collect,
    count_captions,
    receive,
)

T = TypeVar("T")

LOOK = 0.2
"""Seconds between two looks at a job that somebody watches."""
MOST_SENTENCES = 20
MOST_DIVERSITY = 3.0


def _studio(request: Request) -> Studio:
    studio: Studio = request.app.state.studio
    return studio


def _denials() -> dict[int | str, dict[str, Any]]:
    return {status: {"model": Fault} for status in (401, 403)}


def _faults(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": Fault} for status in (401, 403, *statuses, 503)}


Open = Annotated[Studio, Depends(_studio)]
Key = Annotated[str, Path(alias="id", max_length=64, description="As posting it answered.")]
Count = Annotated[
    int | None,
    Query(ge=1, le=MOST_SENTENCES, description="Sentences of each segment; else the model's."),
]
Diversity = Annotated[
    float | None,
    Query(ge=0, le=MOST_DIVERSITY, description="What sameness costs; else the model's."),
]
Sure = Annotated[
    float | None, Query(ge=0, le=1, description="The least confidence; else the model's.")
]
Format = Annotated[str, Path(alias="format", pattern=f"^({'|'.join(ENDINGS)})$")]

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


@router.get("/health", response_model=Health, responses={503: {"model": Health}, **_denials()})
def tell_health(studio: Open) -> JSONResponse:
    """Whether clips are being captioned; 503 if something keeps going wrong."""
    health = Health.of(studio.supervisor)
    return JSONResponse(health.model_dump(), 200 if health.ok else 503)


@router.get("/clips", responses=_faults())
def list_clips(studio: Open) -> list[Job]:
    """All that are kept, the newest first."""
    return studio.jobs.list_all()


@router.post(
    "/clips",
    status_code=202,
    responses=_faults(400, 408, 409, 413, 415, 429),
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
    try:
        async with studio.arrive(key):
            await receive(request.stream(), source, studio.limits)
            await studio.probe.run(sandbox.inspect, source, studio.limits.decoding)
            room = studio.limits.max_waiting, studio.limits.max_clips
            kept = await run_sync(studio.jobs.add, key, name, *room)
    except ClipTooLargeError:
        reason = f"{name}: too large; what fits is {studio.limits.describe()}"
        raise HTTPException(413, reason) from None
    except ClipError as error:
        raise HTTPException(415, str(error).replace(str(source), name)) from None
    except SlowError:
        raise _send_away(studio) from None
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
    state = studio.jobs.remove(key)
    if state is None:
        raise HTTPException(404, "no such clip; it may have been deleted")
    if state == "working":
        # The worker may write more, until it notices and removes it once more.
        studio.data.remove(key)
    else:
        studio.let_go(key)


@router.get(
    "/clips/{id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}, **_faults(404, 410, 429)},
)
async def watch_clip(request: Request, studio: Open, key: Key) -> StreamingResponse:
    """Server-sent events: the clip again whenever it has come further, until it is over."""
    await run_sync(studio.find, key)
    place = studio.streams.take(request.client.host if request.client else "")
    return Events(_follow(studio, key), place)


class Events(StreamingResponse):
    """Holds a place until the visitor has seen or had enough."""

    def __init__(self, events: AsyncIterator[str], place: Place) -> None:
        super().__init__(events, media_type="text/event-stream")
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place:
            await super().__call__(scope, receive, send)


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
def show_result(
    studio: Open, key: Key, k: Count = None, diversity: Diversity = None, sure: Sure = None
) -> Result:
    """Its captions, chosen anew: without a look at the clip."""
    _, analysis = studio.find_done(key)
    return Result.of(choose_captions(analysis, k, diversity, sure), analysis)


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
        **_faults(400, 404, 409, 410, 413, 415, 429),
    },
)
async def export_clip(
    request: Request,
    studio: Open,
    key: Key,
    kind: Format,
    k: Count = None,
    diversity: Diversity = None,
    sure: Sure = None,
) -> FileResponse:
    """Its captions as a file, the same ones that `result` shows."""
    files, analysis = await run_sync(studio.find_done, key)
    captions = await run_sync(choose_captions, analysis, k, diversity, sure)
    export = secrets.token_urlsafe(16)
    made = studio.data.export(export) / f"captions{ENDINGS[kind]}"
    sent = False
    with studio.exports.take():
        await run_sync(studio.jobs.let_pass, export)
        try:
            shown = files.source, files.footage
            limits = studio.limits.decoding
            work = studio.exporter.run(sandbox.export, captions, *shown, kind, made, limits)
            await _while_present(request, work)
            sent = True
        except ClipError as error:
            status = 413 if isinstance(error, ClipTooLargeError) else 415
            reason = str(error).replace(str(files.source), analysis.source)
            raise HTTPException(status, reason) from None
        finally:
            if not sent:
                await studio.drop(export)
    return FileResponse(
        made,
        media_type="application/octet-stream",
        filename=f"{analysis.source}{ENDINGS[kind]}",
        background=BackgroundTask(studio.let_go, export),
    )


@router.post(
    "/results",
    response_model=Result,
    responses=_faults(400, 408, 413, 415, 429),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"type": "object"}}},
        }
    },
)
async def read_result(request: Request, studio: Open) -> Response:
    """A `.json` export made earlier, in the form of `result`; nothing is kept."""
    limits = studio.limits
    try:
        with studio.readings.take():
            data = await collect(request.stream(), limits)
            if count_captions(data) > limits.max_captions:
                raise ManyCaptionsError
            work = studio.reader.run(sandbox.read, data, limits.max_captions)
            answer = await _while_present(request, work)
    except ClipTooLargeError:
        reason = f"too large for a file of captions; {limits.max_text:,} bytes fit"
        raise HTTPException(413, reason) from None
    except ManyCaptionsError:
        reason = f"too many captions; {limits.max_captions:,} fit"
        raise HTTPException(413, reason) from None
    except (ClipError, CorpusError) as error:
        raise HTTPException(415, str(error)) from None
    except SlowError:
        raise _send_away(studio) from None
    return Response(answer, media_type="application/json")


def _send_away(studio: Studio) -> HTTPException:
    rate = f"{studio.limits.min_rate / KIBIBYTE:g} KiB a second"
    # What may still come of it is not waited for.
    return HTTPException(408, f"came too slowly; {rate} is needed", {"Connection": "close"})


async def _while_present(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of the work; it is dropped when the one who asked for it has left."""

    async def await_leaving() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    task, leaving = asyncio.ensure_future(work), asyncio.ensure_future(await_leaving())
    try:
        await asyncio.wait((task, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        for each in (task, leaving):
            each.cancel()
        await asyncio.wait((task, leaving))
