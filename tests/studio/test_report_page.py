"""The report of a clip in a real browser: it opens where something is said, and has no barriers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.data.made_clips import tone, write_video
from tests.export.made_captions import make_caption, make_captions
from tests.studio.browsing import AXE, CHROMIUM, NO_AXE, NO_BROWSER, await_that, list_barriers

from densevidcap.export import save

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_BROWSER)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nothing is said of its first second."""
    folder = tmp_path_factory.mktemp("report")
    clip = write_video(folder / "talk.mp4", 40, sounds=[tone(4.0)])
    later = make_caption("A dog runs.", 1.0, 3.0, (1.5, 2.5), (5, 6))
    last = make_caption("A man watches.", 2.0, 4.0, (2.5, 3.5), (9, 9), 0.3)
    save(make_captions(clip, later, last), folder / "talk.html")
    return folder / "talk.html"


def open_report(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    await_that(page, "document.querySelector('video').readyState >= 2")


def test_it_opens_where_the_first_sentence_is_seen(browser: Browser, report: Path) -> None:
    page = browser.new_page()
    open_report(page, report)
    await_that(page, "Math.abs(document.querySelector('video').currentTime - 1.5) < 0.05")
    expect(page.locator("li").first).not_to_contain_class("silent")
    expect(page.locator("li").nth(1)).to_contain_class("silent")
    expect(page.locator(".facts").first).to_contain_text("80% sure")
    page.keyboard.press("2")
    await_that(page, "Math.abs(document.querySelector('video').currentTime - 2) < 0.05")
    expect(page.locator("li").nth(1)).to_contain_class("chosen")
    page.keyboard.press("Escape")
    expect(page.locator(".chosen")).to_have_count(0)
    page.close()


@pytest.mark.skipif(AXE is None, reason=NO_AXE)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_has_no_barriers(browser: Browser, report: Path, scheme: Any) -> None:
    assert AXE is not None
    page = browser.new_page(color_scheme=scheme, bypass_csp=True)
    open_report(page, report)
    assert list_barriers(page, AXE) == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert list_barriers(page, AXE) == []
    page.close()
