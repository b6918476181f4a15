"""One studio with a small model, for all tests that do not harm it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.studio.browsing import run_browser, visit
from tests.studio.made_shelf import make_shelf
from tests.studio.running import RunningStudio, run_studio
from tests.studio.small_model import write_clip, write_model


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("studio-model"))


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("studio-clip") / "square.mp4")


@pytest.fixture(scope="session")
def studio(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudio]:
    data = tmp_path_factory.mktemp("studio-data")
    with run_studio(data, model, ["--max-minutes", "1", "--max-mib", "8"]) as running:
        yield running


@pytest.fixture(scope="session")
def done(studio: RunningStudio, clip: Path) -> str:
    """The id of a clip with captions."""
    return studio.caption(clip)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds a library and its clips; each module has its own, to change as it likes."""
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture(scope="module")
def ids(folder: Path) -> dict[str, str]:
    """Of the library's clips, by name."""
    return make_shelf(folder)


@pytest.fixture(scope="module")
def shelf(folder: Path, ids: dict[str, str], model: Path) -> Iterator[RunningStudio]:
    """On that library."""
    with run_studio(folder / "holiday.library", model, library=True) as running:
        # Processes that start are waited for here, and nowhere else.
        running.client.get(f"/api/clips/{ids['old.avi']}/footage").raise_for_status()
        running.client.post("/api/results", content=b"{}")
        running.client.get("/api/find", params={"question": "dog"}).raise_for_status()
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with run_browser() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, shelf: RunningStudio) -> Iterator[Page]:
    """That library's, with its cards."""
    with visit(browser, shelf.url, refusals=True) as page:
        expect(page.locator("#cards li").first).to_be_visible()
        yield page
