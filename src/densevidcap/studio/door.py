"""The socket at which visitors arrive, and how long it waits for their questions."""

from __future__ import annotations

import socket
from asyncio import TimerHandle
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from densevidcap.studio.lock import StudioError


def open_door(host: str, port: int) -> socket.socket:
    """A listening socket; a StudioError if it cannot be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # Where a name has addresses of both kinds, people expect the older one.
        family, kind, protocol, _, address = min(found, key=lambda each: each[0])
        # The protocol is named, because asyncio sends small packets at once only where it knows
        # that they are TCP's; else an answer waits for the receipt of its own headers.
        door = socket.socket(family, kind, protocol or socket.IPPROTO_TCP)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(address)
    except OSError as error:
        reason = error.strerror or error
        raise StudioError(f"{host}:{port}: {reason}; name another --host or --port") from None
    # From now on a visitor who comes too early waits.
    door.listen()
    return door


def build_server(app: FastAPI, patience: float) -> uvicorn.Server:
    """Run it with a door."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=make_protocol(patience),
            log_level="warning",
            # Pages that watch a clip would keep the server from ending.
            timeout_graceful_shutdown=1,
        )
    )


def make_protocol(patience: float) -> type[H11Protocol]:
    """uvicorn's own, but whoever has not asked within so many seconds is sent away.

    Connections that stay half open would use up all that a process may have.
    """

    class Patient(H11Protocol):
        _waiting: TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._wait()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._stop_waiting()

        def _wait(self) -> None:
            """Unless a question is being answered; time runs from the last answer on."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop_waiting()
            elif self._waiting is None and not self.transport.is_closing():
                self._waiting = self.loop.call_later(patience, self.transport.close)

        def _stop_waiting(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

    return Patient
