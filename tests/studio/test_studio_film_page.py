"""A film on the page, in a real browser: chapters, scenes, and thousands of sentences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.studio.browsing import (
    AXE,
    CHROMIUM,
    NO_AXE,
    NO_BROWSER,
    await_that,
    list_barriers,
    open_clip,
    visit,
)
from tests.studio.made_film import CHAPTERS, EACH, SCENE, SECONDS, make_film, shelve_film, tell
from tests.studio.running import RunningStudio, run_studio

from densevidcap.data.text import time_code
from densevidcap.library.store import Library
from densevidcap.pipeline.outline import list_chapters, summarise

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_BROWSER)
FILM = make_film("film.mp4")
COUNT = len(FILM)
MOST_THERE = 60
"""Sentences in the document, however many there are."""
PHONE: dict[str, Any] = {
    "viewport": {"width": 360, "height": 740},
    "is_mobile": True,
    "has_touch": True,
}
SEEN = """() => {
    const rows = [...document.querySelectorAll("#sentences li")].map((row) => {
        const { top, bottom } = row.getBoundingClientRect();
        return { number: Number(row.ariaPosInSet), top, bottom };
    });
    return rows.filter(({ top, bottom }) => bottom > 0 && top < innerHeight);
}"""
"""Number, top and bottom of each sentence on the screen."""


@pytest.fixture(scope="module")
def key(folder: Path) -> str:
    return shelve_film(Library.make(folder / "films.library"), folder)


@pytest.fixture(scope="module")
def films(folder: Path, key: str, model: Path) -> Iterator[RunningStudio]:
    with run_studio(folder / "films.library", model, library=True) as running:
        # Processes that start are waited for here, and nowhere else.
        running.client.get(f"/api/clips/{key}/footage").raise_for_status()
        running.client.get("/api/library").raise_for_status()
        yield running


@pytest.fixture
def page(browser: Browser, films: RunningStudio, key: str) -> Iterator[Page]:
    with visit(browser, films.url, refusals=True) as page:
        open_clip(page, key)
        yield page


def sentence(page: Page, number: int) -> Any:
    return page.locator(f"#sentences li[aria-posinset='{number}']")


def count_rows(page: Page) -> int:
    return page.locator("#sentences li").count()


def check_screen(page: Page) -> list[int]:
    """The numbers of the sentences on the screen, of which none is left out."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    rows = page.evaluate(SEEN)
    numbers = [row["number"] for row in rows]
    assert numbers == [*range(numbers[0], numbers[-1] + 1)]
    for above, below in pairwise(rows):
        assert 0 < below["top"] - above["bottom"] < 80
    if numbers[-1] < COUNT:
        assert rows[-1]["bottom"] > page.evaluate("innerHeight") - 80
    assert count_rows(page) <= MOST_THERE
    return numbers


def test_chapters_and_summary_are_those_of_the_file(page: Page) -> None:
    expect(page.locator("#summary")).to_have_text(summarise(FILM))
    chapters = list_chapters(FILM)
    expect(page.locator("#chapter-list time")).to_have_text(
        [time_code(chapter.start) for chapter in chapters]
    )
    expect(page.locator("#chapter-list span")).to_have_text([each.title for each in chapters])
    chapters_end, video_start = page.evaluate("""() => [
        document.getElementById("chapters").getBoundingClientRect().right,
        document.getElementById("screen").getBoundingClientRect().left,
    ]""")
    assert chapters_end < video_start


def test_sentences_stand_by_time_scene_by_scene(page: Page) -> None:
    expect(sentence(page, 1).locator(".text")).to_have_text(tell(1))
    expect(sentence(page, 2).locator(".text")).to_have_text(tell(2))
    expect(sentence(page, 1).locator(".scene")).to_have_text("Scene 1 of 100 00:00:00–00:00:06")
    expect(sentence(page, 2).locator(".scene")).to_have_count(0)
    expect(sentence(page, 2)).to_have_attribute("aria-setsize", str(COUNT))
    expect(sentence(page, 2).locator(".span-text")).to_have_text("00:00:00–00:00:06")


def test_a_chapter_leads_to_its_picture_and_its_sentences(page: Page) -> None:
    start, _ = CHAPTERS[2]
    first = round(start / SCENE) * EACH + 1
    button = page.locator("#chapter-list button").nth(2)
    button.click()
    await_that(page, f"Math.abs(document.getElementById('video').currentTime - {start}) < 0.05")
    expect(button).to_have_attribute("aria-current", "true")
    expect(page.locator("#chapter-list [aria-current]")).to_have_count(1)
    expect(sentence(page, first)).to_be_in_viewport()
    expect(sentence(page, first).locator(".scene")).to_be_in_viewport(ratio=1)
    assert first in check_screen(page)
    # What is played is still in sight.
    expect(page.locator("#video")).to_be_in_viewport()
    expect(button).to_be_in_viewport()


def test_only_what_is_near_the_screen_is_in_the_document(page: Page) -> None:
    assert check_screen(page)[0] == 1
    for share in (0.1, 0.5, 0.9, 0.3):
        page.evaluate(f"scrollTo(0, {share} * document.documentElement.scrollHeight)")
        await_that(page, f"({SEEN})().length > 2")
        first = check_screen(page)[0]
        assert abs(first / COUNT - share) < 0.05
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    expect(sentence(page, COUNT)).to_be_in_viewport()
    assert check_screen(page)[-1] == COUNT


def test_what_is_looked_at_stays_in_its_place_while_rows_come_and_go(page: Page) -> None:
    page.evaluate("scrollTo(0, 0.5 * document.documentElement.scrollHeight)")
    await_that(page, f"({SEEN})().length > 2")
    middle = check_screen(page)[1]
    for _ in range(12):
        before = sentence(page, middle).bounding_box()
        # Upwards, into rows whose height nobody knows yet.
        page.evaluate("scrollBy(0, -300)")
        numbers = check_screen(page)
        after = sentence(page, middle).bounding_box()
        if before is None or after is None:
            break
        assert after["y"] - before["y"] == pytest.approx(300, abs=2)
        middle = numbers[1]


def test_keys_lead_beyond_what_is_in_the_document(page: Page) -> None:
    page.keyboard.press("j")
    for number in range(2, 40):
        page.keyboard.press("j" if number % 2 else "ArrowDown")
        expect(sentence(page, number).locator(".sentence")).to_be_focused()
        if not number % 2:  # arrows lead on, and choose nothing
            page.keyboard.press("Enter")
    expect(sentence(page, 39)).to_be_in_viewport()
    assert count_rows(page) <= MOST_THERE
    for number in range(40, 60):
        page.keyboard.press("Tab")
        expect(sentence(page, number).locator(".sentence")).to_be_focused()
    assert count_rows(page) <= MOST_THERE


def test_focus_and_what_is_being_written_outlive_scrolling(page: Page) -> None:
    page.keyboard.press("j")
    page.keyboard.press("e")
    field = page.locator(".edit textarea")
    expect(field).to_be_focused()
    field.fill("A seal is on the beach.")
    page.evaluate("scrollTo(0, 0.7 * document.documentElement.scrollHeight)")
    await_that(page, f"({SEEN})().length > 2")
    expect(field).to_be_focused()
    assert count_rows(page) <= MOST_THERE
    page.evaluate("document.activeElement.blur(); scrollBy(0, 5000)")
    await_that(page, f"({SEEN})().length > 2")
    page.evaluate("scrollTo(0, 0)")
    expect(field).to_have_value("A seal is on the beach.")


def test_a_correction_of_a_film_shows_where_it_was_made(page: Page, films: RunningStudio) -> None:
    number = 777
    page.goto(f"{page.url.partition('&')[0]}&s={number}")
    expect(sentence(page, number)).to_contain_class("chosen")
    page.keyboard.press("a")
    expect(sentence(page, number).locator(".confidence")).to_have_text("accepted by you")
    expect(sentence(page, number)).to_be_in_viewport()
    expect(sentence(page, number)).to_contain_class("chosen")
    page.keyboard.press("a")
    expect(sentence(page, number).locator(".confidence")).not_to_have_text("accepted by you")
    assert films.client.get("/api/library", params={"show": "corrected"}).json()["fitting"] == 0


def test_addresses_lead_into_a_film(browser: Browser, films: RunningStudio, key: str) -> None:
    for more, number in (("&s=1500", 1500), ("&t=301", 301 // 6 * EACH + 1)):
        with visit(browser, films.url) as page:
            open_clip(page, key, more)
            expect(sentence(page, number)).to_be_in_viewport()
            assert number in check_screen(page)
            start = 301 if "t" in more else (number - 1) // EACH * SCENE
            await_that(
                page, f"Math.abs(document.getElementById('video').currentTime - {start}) < 3"
            )


def test_lanes_show_the_chapter_that_is_played(page: Page) -> None:
    def list_bars() -> list[dict[str, float]]:
        bars: list[dict[str, float]] = page.evaluate("""() => {
            const { left, width } = document.getElementById("timeline").getBoundingClientRect();
            return [...document.querySelectorAll("#timeline .span")].map((bar) => {
                const box = bar.getBoundingClientRect();
                const share = (edge) => (edge - left) / width;
                return { rank: Number(bar.dataset.rank), from: share(box.left),
                         to: share(box.right), top: box.top, width: box.width };
            });
        }""")
        return bars

    def check(start: float, end: float) -> None:
        expect(page.locator("#edges span")).to_have_text([time_code(start), time_code(end)])
        bars = list_bars()
        assert len(bars) == EACH * (end - start) / SCENE
        ranks = sorted(bar["rank"] for bar in bars)
        assert ranks[0] == start / SCENE * EACH
        for bar in bars:
            begin = bar["rank"] // EACH * SCENE + bar["rank"] % EACH * 0.1
            assert bar["from"] == pytest.approx((begin - start) / (end - start), abs=0.01)
            assert bar["width"] > 8
        for lane in {bar["top"] for bar in bars}:
            own = sorted((bar for bar in bars if bar["top"] == lane), key=lambda bar: bar["from"])
            assert all(a["to"] <= b["from"] + 1e-3 for a, b in pairwise(own))

    check(*CHAPTERS[0])
    page.locator("#seek").fill("250")
    expect(page.locator("#clock")).to_have_text(f"{time_code(250)} / {time_code(SECONDS)}")
    check(*CHAPTERS[2])
    # A press on all of the film leads anywhere.
    box = page.locator("#overview").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2)
    await_that(
        page, f"Math.abs(document.getElementById('video').currentTime - {0.6 * SECONDS}) < 3"
    )
    check(*CHAPTERS[3])


def test_chapters_are_walked_by_keyboard(page: Page) -> None:
    buttons = page.locator("#chapter-list button")
    page.locator("#delete").focus()
    page.keyboard.press("Tab")
    expect(buttons.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(buttons.nth(2)).to_be_focused()
    # Walking alone leads nowhere.
    expect(buttons.first).to_have_attribute("aria-current", "true")
    page.keyboard.press("Enter")
    expect(buttons.nth(2)).to_have_attribute("aria-current", "true")
    page.keyboard.press("End")
    expect(buttons.last).to_be_focused()
    page.keyboard.press("Home")
    expect(buttons.first).to_be_focused()
    # They are one stop: the next is beyond them.
    page.keyboard.press("Tab")
    expect(page.locator("#play")).to_be_focused()
    page.keyboard.press("Shift+J")
    expect(buttons.nth(3)).to_have_attribute("aria-current", "true")
    page.keyboard.press("Shift+K")
    page.keyboard.press("Shift+K")
    expect(buttons.nth(1)).to_have_attribute("aria-current", "true")
    start = CHAPTERS[1][0]
    await_that(page, f"Math.abs(document.getElementById('video').currentTime - {start}) < 0.05")


@pytest.mark.skipif(AXE is None, reason=NO_AXE)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_films_have_no_barriers(
    browser: Browser, films: RunningStudio, key: str, scheme: Any, size: str
) -> None:
    assert AXE is not None
    more = PHONE if size == "phone" else {}
    with visit(browser, films.url, color_scheme=scheme, **more) as page:
        open_clip(page, key, "&s=1000")
        expect(sentence(page, 1000)).to_be_in_viewport()
        assert list_barriers(page, AXE) == []


def test_a_phone_shows_a_film_without_scrolling_sideways(
    browser: Browser, films: RunningStudio, key: str
) -> None:
    with visit(browser, films.url, **PHONE) as page:
        open_clip(page, key)
        width = "document.documentElement.scrollWidth"
        assert page.evaluate(width) <= 360
        page.locator("#chapter-list button").nth(1).tap()
        first = round(CHAPTERS[1][0] / SCENE) * EACH + 1
        expect(sentence(page, first)).to_be_in_viewport()
        # Neither the video nor the chapters hide it, and both are still there.
        top, below = page.evaluate(
            """number => [
                document.querySelector(`#sentences li[aria-posinset='${number}'] .scene`)
                    .getBoundingClientRect().top,
                document.getElementById("chapters").getBoundingClientRect().bottom,
            ]""",
            first,
        )
        assert top >= below > 100
        expect(page.locator("#video")).to_be_in_viewport()
        assert page.evaluate(width) <= 360


def test_nothing_glides_for_those_who_want_it_so(
    browser: Browser, films: RunningStudio, key: str
) -> None:
    with visit(browser, films.url, reduced_motion="reduce") as page:
        open_clip(page, key)
        for part in ("#sentences li", "#chapter-list button", "#piece", "html"):
            style = page.evaluate(
                """part => {
                    const style = getComputedStyle(document.querySelector(part));
                    return [style.transitionDuration, style.animationName, style.scrollBehavior];
                }""",
                part,
            )
            assert style == ["0s", "none", "auto"]


def test_a_short_clip_after_a_film_has_nothing_of_it(
    page: Page, films: RunningStudio, folder: Path
) -> None:
    from tests.studio.made_shelf import shelve
    from tests.studio.small_model import write_clip

    short = shelve(Library(films.data), write_clip(folder / "short.mp4", 2.0))
    page.goto(f"/#{short}")
    expect(page.locator("#sentences li")).to_have_count(3)
    for part in ("#chapters", "#summary", "#overview", "#edges"):
        expect(page.locator(part)).to_be_hidden()
    expect(page.locator("#sentences .scene")).to_have_count(0)
    expect(page.locator("#timeline .span")).to_have_count(3)
