"""The questions that a page, or a script, asks the studio."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import asdict
from math import isinf
from pathlib import Path as FilePath
from pathlib import PurePosixPath
from typing import Annotated, Any, TypeVar

from anyio.to_thread import run_sync
from fastapi import APIRouter, HTTPException, Path, Query, Request
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from densevidcap import __version__
from densevidcap.errors import ClipError, ClipTooLargeError, CorpusError, OutputError
from densevidcap.export import ENDINGS
from densevidcap.export.formats import FORMATS
from densevidcap.export.report.footage import PLAYED
from densevidcap.files import replacing
from densevidcap.studio import sandbox
from densevidcap.studio.answers import Facts, FileKind, Health, HeatMap, Result
from densevidcap.studio.jobs import Job, Posted
from densevidcap.studio.limits import DAY, KIBIBYTE
from densevidcap.studio.places import Place
from densevidcap.studio.routing import Key, Open, denials, faults
from densevidcap.studio.studio import Studio, refusing
from densevidcap.studio.uploads import (
    ManyCaptionsError,
    SlowError,
    clean_name,
    collect,
    count_captions,
    receive,
)

T = TypeVar("T")

_CACHED = {"Cache-Control": "private, max-age=3600"}
_EXCESSES = {
    "max_duration": "too long",
    "max_frames": "has too many frames",
    "max_frame_bytes": "its pictures are too large",
}
"""By the limit that a clip is over."""
LOOK = 0.2
"""Seconds between two looks at a job that somebody watches."""
MOST_SENTENCES = 20
MOST_DIVERSITY = 3.0


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


@router.get("/studio", responses=faults())
def tell_facts(studio: Open) -> Facts:
    """What this studio takes and makes."""
    return Facts(
        version=__version__,
        formats={
            name: FileKind(ending=each.ending, about=each.about) for name, each in FORMATS.items()
        },
        library=None if studio.shelf is None else studio.shelf.name,
        limits=studio.limits.describe(),
        max_bytes=studio.limits.max_bytes,
        max_days=None if isinf(studio.limits.max_age) else studio.limits.max_age / DAY,
    )


@router.get("/health", response_model=Health, responses={503: {"model": Health}, **denials()})
def tell_health(studio: Open) -> JSONResponse:
    """Whether clips are being captioned; 503 if something keeps going wrong."""
    health = Health.of(studio.supervisor)
    return JSONResponse(health.model_dump(), 200 if health.ok else 503)


@router.get("/clips", responses=faults())
def list_clips(studio: Open) -> list[Job]:
    """All that are kept, the newest first."""
    return studio.jobs.list_all()


@router.post(
    "/clips",
    status_code=202,
    responses=faults(400, 408, 409, 413, 415, 429),
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
) -> Posted:
    """Queue the clip in the request's body: a video, GIF or picture.

    A library's studio recognises what it has.
    """
    name = clean_name(name)
    key = secrets.token_urlsafe(16)
    files = studio.data.clip(key)
    source = files.name_source(name)
    try:
        async with studio.arrive(key):
            await receive(request.stream(), source, studio.limits)
            identity = await studio.probe.run(sandbox.inspect, source, studio.limits.decoding)
            if studio.shelf is not None:
                async with studio.admitting:
                    known = await run_sync(studio.recognise, identity)
                    if not known:
                        await run_sync(studio.adopt, key, identity)
                        await run_sync(studio.jobs.add, identity, name, *studio.room)
                job = await run_sync(studio.find, identity)
                return Posted(**asdict(job), known=known)
            kept = await run_sync(studio.jobs.add, key, name, *studio.room)
    except ClipTooLargeError as error:
        what = _EXCESSES.get(error.limit, "too large")
        reason = f"{name}: {what}; the limit is {studio.limits.describe()}"
        raise HTTPException(413, reason) from None
    except ClipError as error:
        raise HTTPException(415, str(error).replace(str(source), name)) from None
    except SlowError:
        raise _send_away(studio) from None
    if not kept:
        raise HTTPException(429, "other clips were faster; try again in a minute")
    return Posted(**asdict(await run_sync(studio.find, key)))


@router.get("/clips/{id}", responses=faults(404, 410))
def show_clip(studio: Open, key: Key) -> Job:
    """How far a clip has come."""
    return studio.find(key)


@router.delete("/clips/{id}", status_code=204, responses=faults(404, 409))
def delete_clip(
    studio: Open,
    key: Key,
    forever: Annotated[
        bool, Query(description="Of a library: what was deleted before cannot be restored.")
    ] = False,
) -> None:
    """Forget a clip and all that was made of it, whatever its state.

    A library's clip can be restored, and a file that was not dropped here stays where it is.
    """
    if forever:
        studio.forget(key)
    elif studio.shelf is not None and studio.shelf.holds(key):
        # Whoever looks at it again must not bring it back.
        studio.jobs.remove(key, passing=False)
        refusing(studio.shelf.remove, key)
    else:
        studio.cancel(key)


@router.get(
    "/clips/{id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}, **faults(404, 410, 429)},
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
        **faults(404, 409, 410, 416),
    },
)
async def show_footage(studio: Open, key: Key) -> FileResponse:
    """The clip in a form that browsers play."""
    files = (await run_sync(studio.find_done, key)).files
    if studio.shelf is not None:
        try:
            await studio.make_playable(key, files)
        except ClipError as error:
            raise HTTPException(404, str(error)) from None
    footage = files.footage
    size = footage.stat()
    media_type, _ = PLAYED.get(footage.suffix.lower(), ("application/octet-stream", ()))
    return FileResponse(footage, media_type=media_type, stat_result=size)


@router.get(
    "/clips/{id}/picture",
    response_class=Response,
    responses={200: {"content": {"image/jpeg": {}}}, **faults(404, 409, 410)},
)
async def show_picture(
    studio: Open,
    key: Key,
    time: Annotated[
        float | None, Query(ge=0, description="Seconds; else when its first sentence is seen best.")
    ] = None,
) -> Response:
    """A small picture of the clip."""
    _, files = await run_sync(studio.find_files, key)
    if time is not None or not files.picture.exists():
        moment = await run_sync(studio.find_moment, key) if time is None else time
        picture = await _draw(studio, sandbox.draw_picture, files.source, moment)
        if time is None:
            await run_sync(keep_bytes, files.picture, picture)
    else:
        picture = await run_sync(files.picture.read_bytes)
    return Response(picture, media_type="image/jpeg", headers=_CACHED)


@router.get(
    "/clips/{id}/sound",
    response_class=Response,
    responses={200: {"content": {"image/png": {}}}, 204: {}, **faults(404, 409, 410)},
)
async def show_sound(studio: Open, key: Key) -> Response:
    """Its spectrogram, as wide as the clip is long; 204 where there is nothing to hear."""
    _, files = await run_sync(studio.find_files, key)
    if files.sound.exists():
        picture = await run_sync(files.sound.read_bytes)
    else:
        picture = await _draw(studio, sandbox.draw_sound, files.source)
        await run_sync(keep_bytes, files.sound, picture)
    if not picture:
        return Response(status_code=204)
    return Response(picture, media_type="image/png", headers=_CACHED)


async def _draw(studio: Studio, draw: Callable[..., bytes], *arguments: Any) -> bytes:
    try:
        return await studio.drawing.run(draw, *arguments, studio.limits.decoding)
    except ClipError:
        raise HTTPException(404, "the clip's file is gone or cannot be read") from None


@router.get("/clips/{id}/result", responses=faults(404, 409, 410))
def show_result(
    studio: Open, key: Key, k: Count = None, diversity: Diversity = None, sure: Sure = None
) -> Result:
    """Its captions, chosen anew: without a look at the clip."""
    shown = studio.find_done(key)
    return shown.describe(shown.choose(k, diversity, sure))


@router.get("/clips/{id}/heatmap", responses=faults(404, 409, 410))
def show_heat_map(
    studio: Open,
    key: Key,
    word: Annotated[str, Query(max_length=64)],
    time: Annotated[float, Query(ge=0, description="Seconds: of the segment around it.")] = 0,
) -> HeatMap:
    """Where, and how strongly, a word of the lexicon is seen."""
    analysis = studio.find_done(key).find_analysis()
    if analysis is None:
        raise HTTPException(409, "look again at the clip to see where its words are")
    try:
        return HeatMap.of(analysis.find_segment(time), word)
    except KeyError:
        raise HTTPException(404, f"'{word}' is not among the words looked for") from None


@router.get(
    "/clips/{id}/export/{format}",
    response_class=FileResponse,
    responses={
        200: {"content": {"application/octet-stream": {}}},
        **faults(400, 404, 409, 410, 413, 415, 429),
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
    shown = await run_sync(studio.find_done, key)
    files = shown.files
    captions = await run_sync(shown.choose, k, diversity, sure)
    export = secrets.token_urlsafe(16)
    made = studio.data.export(export) / f"captions{ENDINGS[kind]}"
    sent = False
    with studio.exports.take():
        await run_sync(studio.jobs.let_pass, export)
        try:
            places = files.source, files.footage
            limits = studio.limits.decoding
            work = studio.exporter.run(sandbox.export, captions, *places, kind, made, limits)
            await _while_present(request, work)
            sent = True
        except ClipError as error:
            status = 413 if isinstance(error, ClipTooLargeError) else 415
            reason = str(error).replace(str(files.source), shown.name)
            raise HTTPException(status, reason) from None
        finally:
            if not sent:
                await studio.drop(export)
    return FileResponse(
        made,
        media_type="application/octet-stream",
        filename=name_download(shown.name, ENDINGS[kind]),
        background=BackgroundTask(studio.let_go, export),
    )


def name_download(name: str, ending: str) -> str:
    """Of clip.mp4: clip.srt, and clip.captioned.mp4 where the clip's own name would come out."""
    clip = PurePosixPath(name)
    clash = clip.suffix.lower() == ending
    return f"{clip.stem}{'.captioned' if clash else ''}{ending}"


@router.post(
    "/results",
    response_model=Result,
    responses=faults(400, 408, 413, 415, 429),
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


def keep_bytes(path: FilePath, content: bytes) -> None:
    """Beside what else is known of a clip, where it can be made again at any time."""
    with suppress(OutputError), replacing(path) as temporary:
        temporary.write_bytes(content)


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
