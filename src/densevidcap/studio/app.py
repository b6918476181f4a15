"""The studio's web application."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Literal

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.requests import ClientDisconnect

from densevidcap import __version__
from densevidcap.errors import DenseVidCapError
from densevidcap.export import report
from densevidcap.studio import librarian, library_routes, queue_routes, routes
from densevidcap.studio.access import Access
from densevidcap.studio.files import DataFolder
from densevidcap.studio.jobs import Jobs
from densevidcap.studio.limits import MINUTE, StudioLimits
from densevidcap.studio.lock import StudioError
from densevidcap.studio.places import Paths
from densevidcap.studio.sandbox import Sandbox
from densevidcap.studio.shelf import Shelf
from densevidcap.studio.studio import Studio
from densevidcap.studio.supervisor import Supervisor

STATIC = Path(__file__).parent / "static"
ROUTERS = (routes.router, queue_routes.router, library_routes.router)
REPORT = Path(report.__file__).parent

log = logging.getLogger(__name__)


def make_app(
    folder: Path,
    model: Path | None = None,
    token: str | None = None,
    limits: StudioLimits | None = None,
    library: Path | None = None,
) -> FastAPI:
    """A studio that keeps its clips in `folder` and captions them with `model`.

    With a `library`, that is where captions go, and its clips are shown too. Without a token it
    answers only to this machine's own names. One process may serve a folder at a time.
    """
    if token is not None and not token.strip():
        raise StudioError("the token is empty; give one of letters and digits, or none")
    shelf = None if library is None else Shelf(library.absolute())
    limits = limits or (StudioLimits.of_library() if shelf else StudioLimits())
    data = DataFolder(folder.absolute())

    @asynccontextmanager
    async def open_studio(app: FastAPI) -> AsyncIterator[None]:
        data.claim()
        jobs = Jobs(data.jobs)
        supervisor = Supervisor(data, jobs, model, limits, library and library.absolute())
        app.state.studio = studio = Studio(
            data,
            jobs,
            limits,
            supervisor,
            probe=Sandbox(MINUTE),
            exporter=Sandbox(limits.max_work),
            reader=Sandbox(MINUTE),
            drawing=Sandbox(MINUTE),
            librarian=Sandbox(limits.max_work),
            exports=Paths(limits.max_exports, "files are being made already"),
            streams=Paths(limits.max_streams, "event streams of yours are open already"),
            readings=Paths(limits.max_readings, "results are being read already"),
            shelf=shelf,
        )
        supervisor.start()
        waking = asyncio.ensure_future(wake(studio))
        try:
            yield
        finally:
            supervisor.stop()
            waking.cancel()
            for sandbox in studio.sandboxes:
                sandbox.close()

    app = FastAPI(
        title="densevidcap studio",
        version=__version__,
        lifespan=open_studio,
        openapi_url="/api/openapi.json",
        # These pages would fetch their scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
    )
    for router in ROUTERS:
        app.include_router(router)
    app.add_exception_handler(405, name_methods)
    app.add_exception_handler(ClientDisconnect, note_break)
    app.add_exception_handler(FileNotFoundError, note_deletion)
    for trouble in (OSError, sqlite3.Error):
        app.add_exception_handler(trouble, note_trouble)

    @app.get("/", include_in_schema=False)
    def show_page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/report/{name}", include_in_schema=False)
    def share_report(name: Literal["page.css", "boxes.js"]) -> FileResponse:
        """The looks and the boxes of `html` exports."""
        return FileResponse(REPORT / name)

    app.add_middleware(Access, token=token)
    app.mount("/static", StaticFiles(directory=STATIC))
    return app


async def wake(studio: Studio) -> None:
    """Whoever opens a library should not wait for processes to start."""
    if studio.shelf is not None:
        with suppress(DenseVidCapError):
            asked = studio.shelf.folder, "", "", "new", "all", 0, 1
            await studio.librarian.run(librarian.list_cards, *asked)
            await studio.drawing.run(abs, 0)


def name_methods(request: Request, _: Exception) -> JSONResponse:
    """Say all that may be done with an address, not only what the first of its routes does."""
    known = {
        method
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and route.path_regex.match(request.url.path)
        for method in route.methods or ()
    }
    headers = {"Allow": ", ".join(sorted(known or {"GET"}))}
    return JSONResponse({"detail": "this cannot be done here"}, 405, headers)


def note_break(_: Request, __: Exception) -> JSONResponse:
    """Nobody is there to hear it any more."""
    return JSONResponse({"detail": "broke off; send it again"}, 400)


def note_trouble(_: Request, error: Exception) -> JSONResponse:
    """A full disk, too many open files, a database in use: nothing that the visitor did."""
    log.error("studio: %s: %s", type(error).__name__, error)
    return JSONResponse({"detail": "the studio has no room or rest for this; try again later"}, 503)


def note_deletion(_: Request, __: Exception) -> JSONResponse:
    """A clip may go while somebody else asks for it."""
    return JSONResponse({"detail": "was deleted meanwhile"}, 404)
