"""What can be done about clips that wait, all of them watched in one stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import StreamingResponse

from densevidcap.studio.jobs import Job
from densevidcap.studio.routes import Events
from densevidcap.studio.routing import Key, Open, faults
from densevidcap.studio.studio import GONE, Studio

LOOK = 0.3
"""Seconds between two looks at all."""

router = APIRouter(prefix="/api/queue")


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}, **faults(429)},
)
async def watch_queue(request: Request, studio: Open) -> StreamingResponse:
    """Server-sent events: `jobs` that are new or have come further, ids that are `gone`, and
    `revision`, which changes with the library. Never ends."""
    place = studio.streams.take(request.client.host if request.client else "")
    return Events(_follow_all(studio), place)


async def _follow_all(studio: Studio) -> AsyncIterator[str]:
    told: dict[str, Job] = {}
    revision: str | None = None
    while True:
        now = {job.id: job for job in await run_sync(studio.jobs.list_all)}
        seen = await run_sync(_look, studio)
        changed = [asdict(job) for key, job in now.items() if told.get(key) != job]
        gone = [key for key in told if key not in now]
        if changed or gone or revision != seen:
            content: dict[str, Any] = {"jobs": changed, "gone": gone, "revision": seen}
            yield f"data: {json.dumps(content)}\n\n"
            told, revision = now, seen
        await asyncio.sleep(LOOK)


def _look(studio: Studio) -> str:
    return studio.shelf.revision if studio.shelf is not None else ""


@router.put("/{id}", responses=faults(404, 409))
def move_clip(
    studio: Open,
    key: Key,
    before: Annotated[str, Query(max_length=64, description="The id of the clip that comes next.")],
) -> Job:
    """Change the turn of a clip that waits."""
    if not studio.jobs.move(key, before):
        raise HTTPException(409, "one of them does not wait any more")
    return studio.find(key)


@router.post("/{id}", status_code=202, responses=faults(404, 409))
def retry_clip(studio: Open, key: Key) -> Job:
    """Let a clip that failed wait again."""
    job = studio.jobs.find(key)
    if job is None:
        raise HTTPException(404, GONE)
    if not studio.jobs.retry(key):
        raise HTTPException(409, f"{job.name}: did not fail; it is {job.state}")
    return studio.find(key)


@router.delete("/{id}", status_code=204, responses=faults(404, 409))
def leave_queue(studio: Open, key: Key) -> None:
    """Stop a clip that waits or is in work, or forget one that failed.

    A library's clip that was looked at again stays as it was.
    """
    job = studio.jobs.find(key)
    if job is None:
        raise HTTPException(404, GONE)
    if job.state == "done":
        raise HTTPException(409, f"{job.name}: is done; delete the clip itself")
    studio.cancel(key)
