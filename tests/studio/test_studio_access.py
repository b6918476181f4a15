"""Who gets an answer. Nothing is started: the door is all that is tried."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from densevidcap.cli import root
from densevidcap.studio.access import COOKIE, is_loopback
from densevidcap.studio.app import make_app
from densevidcap.studio.lock import StudioError

TOKEN = "a-token"


class Visitor:
    """Asks an application by that host's name."""

    def __init__(self, folder: Path, token: str | None, host: str) -> None:
        self._app, self._host = make_app(folder, token=token), host

    def ask(self, path: str, method: str = "GET", **options: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(
                transport=transport, base_url=f"http://{self._host}"
            ) as client:
                return await client.request(method, path, **options)

        return asyncio.run(send())


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1", "127.0.0.9:1", "[::1]:8765"])
def test_this_machine_needs_no_token(tmp_path: Path, host: str) -> None:
    assert Visitor(tmp_path, None, host).ask("/").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "192.168.1.2:8765"])
def test_a_foreign_name_that_leads_here_gets_nothing(tmp_path: Path, host: str) -> None:
    assert Visitor(tmp_path, None, host).ask("/").status_code == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "http://["]
)
def test_pages_of_others_cannot_post(tmp_path: Path, origin: str) -> None:
    visitor = Visitor(tmp_path, None, "localhost:8765")
    answer = visitor.ask("/api/clips?name=x", "POST", headers={"Origin": origin})
    assert answer.status_code == 403


def test_a_token_opens_by_header_or_once_by_address(tmp_path: Path) -> None:
    visitor = Visitor(tmp_path, TOKEN, "studio.example")
    assert visitor.ask("/").status_code == visitor.ask("/api/openapi.json").status_code == 401
    assert visitor.ask("/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    for wrong in ("", "a-toke", "a-token2", "ä"):
        assert visitor.ask("/", params={"token": wrong}).status_code == 401
        bearer = {"Authorization": b"Bearer " + wrong.encode()}
        assert visitor.ask("/", headers=bearer).status_code == 401
    # Only the page itself takes it from the address, and takes it out of there.
    assert visitor.ask("/api/openapi.json", params={"token": TOKEN}).status_code == 401
    entered = visitor.ask("/", params={"token": TOKEN})
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert (
        visitor.ask("/static/studio.css", headers={"Cookie": cookie.split(";")[0]}).status_code
        == 200
    )


@pytest.mark.parametrize("cookie", [f"{COOKIE}=no", f"{COOKIE}=", "=;;;", '"'])
def test_odd_cookies_are_no_token(tmp_path: Path, cookie: str) -> None:
    visitor = Visitor(tmp_path, TOKEN, "studio.example")
    assert visitor.ask("/", headers={"Cookie": cookie}).status_code == 401


def test_every_answer_confines_the_page(tmp_path: Path) -> None:
    visitor = Visitor(tmp_path, None, "localhost")
    for path in ("/", "/static/main.js", "/report/boxes.js", "/nothing"):
        headers = visitor.ask(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_loopback_is_known_by_name_and_number() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.1.2.3", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", "example.org", "192.168.0.1")))


@pytest.mark.parametrize("token", ["", " ", "\t\n"])
def test_an_empty_token_opens_nothing(model: Path, tmp_path: Path, token: str) -> None:
    with pytest.raises(StudioError, match="token is empty"):
        make_app(tmp_path, token=token)
    command = ["serve", "--model", str(model), "--data", str(tmp_path / "data")]
    for options, variables in ((["--token", token], {}), ([], {"DENSEVIDCAP_TOKEN": token})):
        run = CliRunner().invoke(root, [*command, *options], env=variables)
        assert isinstance(run.exception, StudioError)
    assert not (tmp_path / "data").exists()
