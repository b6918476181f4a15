"""The page in a real browser, as people use it: by mouse, by finger and by keyboard."""

from __future__ import annotations

import json
import shutil
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import astuple
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, Request, expect
from tests.export.made_captions import FITTED, make_caption, make_captions
from tests.studio import running
from tests.studio.browsing import (
    CAPTIONING,
    CHROMIUM,
    NO_BROWSER,
    PATIENCE,
    await_that,
    visit,
)
from tests.studio.running import RunningStudio
from tests.studio.small_model import write_clip

from densevidcap.export import ENDINGS, save
from densevidcap.types import Box, UInt8Array
from densevidcap.viz.canvas import lerp
from densevidcap.viz.colours import colour_of
from densevidcap.viz.sequences import box_at

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_BROWSER)
EDGES = ("left", "top", "right", "bottom")


@pytest.fixture(scope="module", autouse=True)
def _awake(done: str) -> None:
    """A worker that has captioned a clip has its networks loaded: none of the waits is for them."""


@pytest.fixture
def page(browser: Browser, studio: RunningStudio) -> Iterator[Page]:
    with visit(browser, studio.url) as page:
        yield page


def open_result(page: Page, key: str) -> None:
    page.goto(f"/#{key}")
    expect(page.locator("#sentences li")).to_have_count(5)
    await_that(page, "document.getElementById('video').readyState >= 2")


def seek(page: Page, time: float) -> None:
    page.evaluate(
        """time => {
            const video = document.getElementById("video");
            window.isThere = false;
            const end = () => requestAnimationFrame(() => (window.isThere = true));
            video.addEventListener("seeked", end, { once: true });
            video.currentTime = time;
        }""",
        time,
    )
    await_that(page, "window.isThere")


def read_canvas(page: Page) -> UInt8Array:
    """(H, W, 4)"""
    url: str = page.evaluate("document.getElementById('canvas').toDataURL()")
    return np.asarray(Image.open(BytesIO(b64decode(url.partition(",")[2]))).convert("RGBA"))


def find_colour(pixels: UInt8Array, colour: str) -> list[int] | None:
    """Left, top, right and bottom of what has that colour; None if nothing has."""
    there = (pixels == [*bytes.fromhex(colour[1:]), 255]).all(axis=-1)
    rows, columns = there.any(axis=1).nonzero()[0], there.any(axis=0).nonzero()[0]
    if not len(rows):
        return None
    return [*map(int, (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1))]


def read_box_at(caption: dict[str, Any], time: float) -> list[float]:
    boxes = caption["boxes"]
    times = np.array([box["time"] for box in boxes])
    edges = np.array([[box[edge] for edge in EDGES] for box in boxes])
    return [*map(float, lerp(times, edges, time))]


def test_a_chosen_clip_goes_through_its_stages_to_a_result(page: Page, clip: Path) -> None:
    # Written down as it happens: it may be over before anybody looks.
    page.evaluate("""() => {
        window.told = [];
        const [now, title, view] = ["progress-now", "progress-title", "progress"].map((id) =>
            document.getElementById(id));
        const note = () => told.push([now.textContent, title.textContent, !view.hidden]);
        new MutationObserver(note).observe(now, { childList: true });
    }""")
    page.set_input_files("#clip-input", clip)
    expect(page.locator("#result")).to_be_visible(timeout=CAPTIONING)
    expect(page.locator("#sentences li")).to_have_count(5)
    told = page.evaluate("told")
    assert all(title == clip.name and is_shown for _, title, is_shown in told)
    stages = [stage for stage, _, _ in told]
    assert stages[0] == "Sending the clip"
    assert len({*stages}) >= 2


def test_boxes_on_the_canvas_are_those_of_the_file(
    page: Page, studio: RunningStudio, done: str
) -> None:
    open_result(page, done)
    result = studio.client.get(f"/api/clips/{done}/result").json()
    moved = 0.0
    for rank, caption in enumerate(result["captions"]["captions"]):
        page.locator("#sentences li").nth(rank).hover()
        found = []
        for time in np.linspace(caption["start"] + 0.05, caption["end"] - 0.1, 5):
            seek(page, float(time))
            pixels = read_canvas(page)
            drawn = find_colour(pixels, result["colours"][rank])
            assert drawn is not None
            height, width = pixels.shape[:2]
            # A browser ends a seek a little before or after the time that it was asked for.
            around = [read_box_at(caption, float(time) + late) for late in np.linspace(-0.05, 0.05)]
            expected = np.array(around) * [width, height, width, height]
            assert np.abs(np.array(drawn) - expected).max(axis=1).min() <= 2
            found.append(drawn)
        moved = max(moved, float(np.ptp(found, axis=0).max()))
    assert moved > 20, "no box moves in this clip"


def test_visits_in_quick_succession_end_at_the_last(page: Page, done: str) -> None:
    page.evaluate("id => ['x', id, '', id].forEach(hash => (location.hash = hash))", done)
    expect(page.locator("#sentences li")).to_have_count(5)


def test_a_lane_is_as_long_as_its_sentence_holds(
    page: Page, studio: RunningStudio, done: str
) -> None:
    open_result(page, done)
    result = studio.client.get(f"/api/clips/{done}/result").json()["captions"]
    lanes = page.evaluate("""() => {
        const { left, width } = document.getElementById("timeline").getBoundingClientRect();
        return [...document.querySelectorAll("#timeline .span")].map((bar) => {
            const box = bar.getBoundingClientRect();
            return { left: box.left - left, right: box.right - left, top: box.top, width };
        });
    }""")
    for lane, caption in zip(lanes, result["captions"], strict=True):
        scale = lane["width"] / result["duration"]
        assert lane["left"] == pytest.approx(caption["start"] * scale, abs=3)
        assert lane["right"] == pytest.approx(caption["end"] * scale, abs=3)
    assert len({lane["top"] for lane in lanes}) == len(lanes)


def test_pointing_at_a_sentence_isolates_its_box(
    page: Page, studio: RunningStudio, done: str
) -> None:
    open_result(page, done)
    colours = studio.client.get(f"/api/clips/{done}/result").json()["colours"]

    def await_shown(expected: list[bool]) -> None:
        def is_shown() -> bool:
            pixels = read_canvas(page)
            return [find_colour(pixels, each) is not None for each in colours] == expected

        running.await_that(is_shown, PATIENCE)

    await_shown([True] * 5)
    for place in ("#sentences li", "#timeline .span"):
        page.locator(place).nth(1).hover()
        await_shown([False, True, False, False, False])
        page.locator("header").hover()
        await_shown([True] * 5)


def test_a_click_plays_the_sentence(page: Page, done: str) -> None:
    open_result(page, done)
    page.locator("#sentences .sentence").first.click()
    await_that(page, "document.getElementById('video').currentTime > 0.3")
    expect(page.locator("#sentences li").first).to_contain_class("chosen")
    page.keyboard.press("Escape")
    expect(page.locator("#sentences .chosen")).to_have_count(0)


def test_a_word_glows_and_its_evidence_is_pointed_out(page: Page, done: str) -> None:
    open_result(page, done)
    word = page.locator("#sentences .text button").first
    assert (read_canvas(page)[..., 3] > 0).mean() < 0.5
    word.click()
    expect(page.locator("#glow")).to_contain_text(word.inner_text().lower())
    expect(page.locator("#scale")).to_be_visible()
    assert (read_canvas(page)[..., 3] > 0).mean() > 0.99
    # The sentence whose figure is told stays chosen; in another one the word has another figure.
    page.locator("header").hover()
    expect(page.locator("#sentences li").first).to_contain_class("chosen")
    told = (page.locator("#glow").text_content() or "").partition("best")[2]
    other = page.locator(
        f"#sentences li:nth-child(n + 2) [data-word={word.get_attribute('data-word')}]"
    )
    if other.count():
        other.first.click()
        expect(page.locator("#sentences li").first).not_to_contain_class("chosen")
        expect(page.locator("#glow")).to_contain_text(told)
        word.click()
        expect(page.locator("#sentences li").first).to_contain_class("chosen")
    word.click()
    expect(page.locator("#scale")).to_be_hidden()
    expect(page.locator("#glow")).to_be_empty()
    assert (read_canvas(page)[..., 3] > 0).mean() < 0.5
    evidence = page.locator(".evidence button").first
    evidence.click()
    time = json.loads(evidence.get_attribute("data-evidence") or "")["time"]
    await_that(page, f"Math.abs(document.getElementById('video').currentTime - {time}) < 0.05")


def test_sliders_choose_anew_without_another_look_at_the_clip(
    page: Page, studio: RunningStudio, done: str
) -> None:
    open_result(page, done)
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    page.locator("#k").fill("3")
    expect(page.locator("#sentences li")).to_have_count(3)
    page.locator("#diversity").fill("2.5")
    expected = [caption["text"] for caption in studio.captions(done, k=3, diversity=2.5)]
    expect(page.locator("#sentences .text")).to_have_text(expected)
    expect(page.locator("#timeline .span")).to_have_count(3)
    page.locator("#sure").fill("0.9")
    (best,) = studio.captions(done, k=3, diversity=2.5, sure=0.9)
    expect(page.locator("#sentences .text")).to_have_text([best["text"]])
    assert asked
    assert all("/result?" in url or url.endswith("/sound") for url in asked)


def test_the_page_says_what_the_model_says_by_itself(
    page: Page, studio: RunningStudio, done: str
) -> None:
    """Sliders start where the model's config has them, and so do sentences."""
    open_result(page, done)
    result = studio.client.get(f"/api/clips/{done}/result").json()
    texts = [caption["text"] for caption in result["captions"]["captions"]]
    expect(page.locator("#sentences .text")).to_have_text(texts)
    for name, value in result["usual"].items():
        assert float(page.locator(f"#{name}").input_value()) == value
    told = page.locator("#sentences .confidence").first.text_content() or ""
    assert told.endswith(result["verdicts"][0])


def test_each_format_is_downloaded(page: Page, done: str) -> None:
    open_result(page, done)
    menu = page.locator("#downloads summary")
    for ending in ENDINGS.values():
        menu.click()
        with page.expect_download() as download:
            page.locator("#formats").get_by_text(ending, exact=True).click()
        name = "square.captioned.mp4" if ending == ".mp4" else f"square{ending}"
        assert download.value.suggested_filename == name
        assert download.value.path().stat().st_size > 0
        expect(page.locator("#formats")).to_be_hidden()
    menu.click()
    page.keyboard.press("Escape")
    expect(page.locator("#formats")).to_be_hidden()
    expect(menu).to_be_focused()


def test_all_is_done_by_keyboard(page: Page, done: str) -> None:
    def tab_to(selector: str) -> None:
        # Other tests may have left many clips.
        for _ in range(300):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline != "none"
                return
        raise AssertionError(f"Tab does not lead to {selector}")

    expect(page.locator(f"a[href='#{done}']")).to_be_visible()
    tab_to(f"a[href='#{done}']")
    page.keyboard.press("Enter")
    expect(page.locator("#sentences li")).to_have_count(5)
    tab_to("#downloads summary")
    tab_to("#play")
    tab_to("#k")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#sentences li")).to_have_count(4)
    tab_to("#sentences .sentence")
    expect(page.locator("#sentences li").first).to_contain_class("shown")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#sentences li").nth(1)).to_contain_class("shown")
    page.keyboard.press("Enter")
    expect(page.locator("#sentences .chosen")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#glow")).not_to_be_empty()
    page.keyboard.press("Escape")
    expect(page.locator("#glow")).to_be_empty()
    expect(page.locator("#sentences .chosen")).to_have_count(0)


def test_results_made_earlier_are_opened_from_a_folder(
    page: Page, studio: RunningStudio, done: str, clip: Path, tmp_path: Path
) -> None:
    shutil.copy(clip, tmp_path)
    saved = studio.client.get(f"/api/clips/{done}/export/json", params={"k": 4}).content
    (tmp_path / f"{clip.name}.json").write_bytes(saved)
    page.set_input_files("#results-input", tmp_path)
    expect(page.locator("#sentences li")).to_have_count(4)
    await_that(page, "document.getElementById('video').readyState >= 2")
    expect(page.locator("#choice")).to_be_hidden()


def test_fitted_boxes_are_drawn_however_small(
    page: Page, studio: RunningStudio, clip: Path, tmp_path: Path
) -> None:
    shutil.copy(clip, tmp_path)
    small = Box(0.5, 0.5, 0.515, 0.515), Box(0.8, 0.6, 0.82, 0.9)
    times = FITTED[1].sequence.times
    tiny = make_caption("a ball lies there", times=times, regions=(0, 0), fitted=small)
    captions = make_captions(clip.name, *FITTED * 3, FITTED[0], tiny)
    saved = tmp_path / f"{clip.name}.json"
    save(captions, saved)
    # The first reading starts a process, which none of the waits is for.
    studio.client.post("/api/results", content=saved.read_bytes()).raise_for_status()
    page.set_input_files("#results-input", tmp_path)
    expect(page.locator("#sentences li")).to_have_count(8)
    await_that(page, "document.getElementById('video').readyState >= 2")

    def measure(rank: int, time: float) -> list[float]:
        """How far each edge of what is drawn lies from the box's, in pixels."""
        pixels = read_canvas(page)
        drawn = find_colour(pixels, "#{:02x}{:02x}{:02x}".format(*colour_of(rank).rgb))
        assert drawn is not None
        height, width = pixels.shape[:2]
        box = np.array(astuple(box_at(captions[rank].sequence, time)))
        return [*map(float, np.abs(np.array(drawn) - box * [width, height, width, height]))]

    for time in (0.5, 1.0, 2.5, 3.0):
        seek(page, time)
        page.locator("header").hover()
        # The last of eight would lie a line further in for each; its number is larger than itself.
        assert max(measure(7, time)[:2]) <= 5
        for rank in (0, 1):
            page.locator("#sentences li").nth(rank).hover()
            assert max(measure(rank, time)) <= 3


def test_a_phone_shows_all_without_scrolling_sideways(
    browser: Browser, studio: RunningStudio, done: str
) -> None:
    phone: dict[str, Any] = {
        "viewport": {"width": 360, "height": 740},
        "is_mobile": True,
        "has_touch": True,
    }
    with visit(browser, studio.url, **phone) as page:
        open_result(page, done)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        # The first sentence is in sight before anybody scrolls; what it is chosen by is folded.
        expect(page.locator("#sentences .text").first).to_be_in_viewport()
        expect(page.locator("#k")).to_be_hidden()
        page.locator("#choosing summary").tap()
        expect(page.locator("#k")).to_be_visible()
        page.locator("#sentences .sentence").nth(2).tap()
        expect(page.locator("#sentences .chosen")).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_and_light_are_the_systems_or_ones_own(
    browser: Browser, studio: RunningStudio, scheme: Any
) -> None:
    with visit(browser, studio.url, color_scheme=scheme) as page:
        brightness = "getComputedStyle(document.body).backgroundColor"
        first = page.evaluate(brightness)
        page.locator("#theme").click()
        await_that(page, f"{brightness} !== '{first}'")
        page.reload()
        await_that(page, f"{brightness} !== '{first}'")


def test_all_that_is_dropped_is_taken_and_deleting_asks(
    browser: Browser, studio: RunningStudio, tmp_path: Path
) -> None:
    clips = [write_clip(tmp_path / f"{name}.mp4", 1.0) for name in ("left", "middle", "right")]
    with visit(browser, studio.url) as page:
        page.set_input_files("#clip-input", clips)
        expect(page.locator("#queue-list .done")).to_have_count(3, timeout=CAPTIONING)
        card = page.locator("#cards li", has_text="middle.mp4")
        expect(card.locator(".said")).not_to_be_empty()
        card.get_by_role("button", name="Delete").click()
        page.locator("#ask-yes").click()
        expect(card).to_have_count(0)
        page.locator("#toast-undo").click()
        expect(card).to_have_count(1)
        card.get_by_role("button", name="Delete").click()
        page.locator("#ask-yes").click()
        expect(page.locator("#toast")).to_be_visible()
        # Whoever leaves does not undo it any more.
        page.goto("about:blank")

        def list_names() -> list[str]:
            return [job["name"] for job in studio.client.get("/api/clips").json()]

        running.await_that(lambda: "middle.mp4" not in list_names(), PATIENCE)
        assert "left.mp4" in list_names()


def test_a_refusal_says_why(browser: Browser, studio: RunningStudio, tmp_path: Path) -> None:
    text = tmp_path / "notes.mp4"
    text.write_text("not a video")
    with visit(browser, studio.url, refusals=True) as page:
        page.set_input_files("#clip-input", text)
        expect(page.get_by_role("alert")).to_contain_text("notes.mp4: cannot be read")
        page.goto("/#unknown")
        expect(page.get_by_role("alert")).to_contain_text("no such clip")
