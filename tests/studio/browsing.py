"""A real browser at a studio's page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NO_BROWSER = "no browser; to install one and run them: make browser test"
REFUSAL = "Failed to load resource"
PATIENCE = 120
"""Seconds for anything that the page does, on a machine that has other work too."""
CAPTIONING = 600_000
"""Milliseconds for what the worker does."""
_UNHURRIED = """() => {
    const begin = window.setTimeout.bind(window);
    window.setTimeout = (call, after, ...more) =>
        begin(call, after > 2000 ? 2 ** 31 - 1 : after, ...more);
}"""
"""What the page shows for some seconds only stays: a slow machine needs longer to look at it."""
expect.set_options(timeout=1000 * PATIENCE)
_RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}


@contextmanager
def run_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def visit(browser: Browser, url: str, refusals: bool = False, **options: Any) -> Iterator[Page]:
    """Whatever the console calls an error fails the test.

    Browsers write `refusals` there too, which are allowed where the page is to make something of
    them.
    """
    page = browser.new_page(base_url=url, **{"viewport": {"width": 1200, "height": 800}, **options})
    faults: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not (refusals and REFUSAL in message.text):
            faults.append(message.text)

    page.set_default_timeout(1000 * PATIENCE)
    page.add_init_script(f"({_UNHURRIED})()")
    page.on("console", listen)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto("/")
    await_page(page)
    yield page
    page.close()
    assert not faults, faults


def await_page(page: Page) -> None:
    """Its script has run: files that are given to it before, and keys, would be lost."""
    expect(page.locator("#limits")).not_to_be_empty()


def open_clip(page: Page, key: str, more: str = "") -> None:
    """With its sentences and a picture."""
    page.goto(f"/#{key}{more}")
    expect(page.locator("#result")).to_be_visible()
    await_that(page, "document.getElementById('video').readyState >= 2")
    expect(page.locator("#sentences li").first).to_be_visible()


def await_that(page: Page, condition: str) -> None:
    """Playwright's own way evaluates strings in the page, which its policy forbids."""
    deadline = monotonic() + PATIENCE
    while not page.evaluate(condition):
        assert monotonic() < deadline, condition
        page.wait_for_timeout(50)


def find_axe() -> str | None:
    """The source of axe-core, if the package that brings it is installed."""
    found = find_spec("axe_playwright_python")
    if found is None or not found.submodule_search_locations:
        return None
    script = Path(found.submodule_search_locations[0]) / "axe.min.js"
    return script.read_text(encoding="utf-8") if script.exists() else None


AXE = find_axe()
NO_AXE = "no axe-core; pip install axe-playwright-python"


def list_barriers(page: Page, axe: str) -> list[str]:
    """What axe-core finds on the page as it is now, in lines."""
    page.evaluate(axe)
    found = page.evaluate("rules => axe.run(document, rules)", _RULES)
    return [
        f"{fault['id']}: {node['target']} {node['failureSummary']}"
        for fault in found["violations"]
        for node in fault["nodes"]
    ]
