"""Who may talk to the studio, and what its pages may do."""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "densevidcap-token"

HEADERS = {
    # Everything comes from here; pictures of heat maps and local videos from the page itself.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
        " img-src 'self' data:; media-src 'self' blob:;"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address or name."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Access:
    """ASGI middleware.

    Other sites' pages get nothing: not by posting here (their `Origin` tells), nor by a name of
    theirs that leads to this machine (without a token, the `Host` must be the machine itself).
    With a token, a request shows it as `Authorization: Bearer` or as a cookie, which opening
    `/?token=...` once sets.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self._judge(scope) or self._app
        await answer(scope, receive, send_guarded)

    def _judge(self, scope: Scope) -> Response | None:
        """What to answer instead, if anything."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if origin is not None and _part(f"{origin}", "netloc") != host:
            return _refuse(403, "this page belongs to another site")
        if self._token is None:
            if is_loopback(_part(f"//{host}", "hostname")):
                return None
            return _refuse(403, "use the address that `densevidcap serve` printed")
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and self._is_token(given):
            entering = RedirectResponse("/", 303)
            entering.set_cookie(COOKIE, given, httponly=True, samesite="strict")
            return entering
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(bearer):
            return None
        if self._is_token(_read_cookie(headers.get("cookie", ""))):
            return None
        refusal = _refuse(401, "open the address with the token that `densevidcap serve` printed")
        refusal.headers["WWW-Authenticate"] = "Bearer"
        return refusal

    def _is_token(self, given: str) -> bool:
        """In constant time, so that nobody guesses it letter by letter."""
        return hmac.compare_digest(given.encode(), (self._token or "").encode())


def _part(url: str, part: str) -> str:
    try:
        return getattr(urlsplit(url), part) or ""
    except ValueError:
        return ""


def _read_cookie(header: str) -> str:
    try:
        cookie = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie else ""


def _refuse(status: int, reason: str) -> JSONResponse:
    return JSONResponse({"detail": reason}, status)
