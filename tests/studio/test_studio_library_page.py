"""A library on the page, in a real browser: by mouse, by finger and by keyboard."""

from __future__ import annotations

import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from tests.studio.browsing import (
    AXE,
    CAPTIONING,
    CHROMIUM,
    NO_AXE,
    NO_BROWSER,
    await_that,
    list_barriers,
    open_clip,
    visit,
)
from tests.studio.made_shelf import DOG, MAN, shelve
from tests.studio.running import RunningStudio
from tests.studio.running import await_that as await_server
from tests.studio.small_model import write_clip

from densevidcap.library.store import Library
from densevidcap.train.model import LEAST

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_BROWSER)


def test_cards_have_a_picture_and_the_first_sentence(page: Page) -> None:
    card = page.locator("#cards li", has_text="beach.mp4")
    expect(card.locator(".said")).to_have_text(DOG)
    expect(card.locator(".length")).to_have_text("0:04")
    card.scroll_into_view_if_needed()
    picture = "document.querySelector('#cards li[data-name=\"beach.mp4\"] img')"
    await_that(page, f"{picture}.naturalWidth > 0")
    page.locator("#filter").fill("cooking")
    expect(page.locator("#cards li")).to_have_count(1)
    page.locator("#filter").fill("")
    page.locator("#sort").select_option("name")
    expect(page.locator("#cards .name").first).to_have_text("beach.mp4")
    expect(page.locator("#range")).to_contain_text("clips")


def test_a_hit_opens_at_its_time_with_its_box(page: Page, ids: dict[str, str]) -> None:
    page.keyboard.press("/")
    page.keyboard.type("a dog on the beach")
    # A page that is looked at while somebody types answers to halves of the question too.
    expect(page.locator("#hits-title")).to_contain_text("“a dog on the beach”")
    hit = page.locator("#hit-list li").first
    expect(hit.locator(".said")).to_have_text(DOG)
    expect(hit.locator(".box")).to_be_visible()
    inside = page.evaluate("""() => {
        const box = document.querySelector("#hit-list .box").getBoundingClientRect();
        const picture = document.querySelector("#hit-list img").getBoundingClientRect();
        return [
            (box.left - picture.left) / picture.width, (box.top - picture.top) / picture.height,
        ];
    }""")
    assert inside == pytest.approx([0.2, 0.4], abs=0.02)
    hit.locator("a").click()
    expect(page.locator("#sentences li").first).to_be_visible()
    await_that(page, "document.getElementById('video').readyState >= 2")
    await_that(page, "Math.abs(document.getElementById('video').currentTime - 2.5) < 0.05")
    assert ids["beach.mp4"] in page.url
    # What was asked for is outlined by a dashed white line.
    await_that(
        page,
        """(() => {
        const canvas = document.getElementById("canvas");
        const pen = canvas.getContext("2d");
        const y = Math.round(0.6 * canvas.height);
        const { data } = pen.getImageData(0.18 * canvas.width, y - 20, 0.08 * canvas.width, 40);
        for (let i = 0; i < data.length; i += 4)
          if (data.slice(i, i + 4).every((each) => each > 250)) return true;
        return false;
    })()""",
    )
    page.go_back()
    expect(page.locator("#hit-list li").first).to_be_visible()
    page.locator("#question").fill("xylophone")
    expect(page.locator("#hits-title")).to_have_text("Nothing matches “xylophone”")
    page.locator("#question").fill("")
    expect(page.locator("#hits")).to_be_hidden()


def test_hits_tell_what_of_the_question_they_lack(page: Page) -> None:
    page.locator("#question").fill("a dog on the beach, a man")
    expect(page.locator("#hits-title")).to_contain_text("with only part of it")
    beach = page.locator("#hit-list li", has_text="beach.mp4").first
    expect(beach.locator(".seen")).to_contain_text("; not man")
    kitchen = page.locator("#hit-list li", has_text="kitchen.mp4").first
    expect(kitchen).to_contain_text("; not ")
    page.locator("#question").fill("cooking")
    expect(page.locator("#hits-title")).to_have_text("“cooking”: 1 moment")
    expect(page.locator("#hit-list")).not_to_contain_text("; not ")


def test_addresses_lead_to_a_time_and_a_sentence(page: Page, ids: dict[str, str]) -> None:
    open_clip(page, ids["beach.mp4"], "&t=1.7&s=2")
    await_that(page, "Math.abs(document.getElementById('video').currentTime - 1.7) < 0.05")
    expect(page.locator("#sentences li").nth(1)).to_contain_class("chosen")
    expect(page.locator("#clock")).to_contain_text("0:01.7")
    page.locator("#seek").fill("3")
    await_that(page, "location.hash.endsWith('&t=3&s=2')")
    page.locator("#copy").click()
    expect(page.locator("#copied")).to_have_text("Link copied.")


def test_keys_play_and_walk(page: Page, ids: dict[str, str]) -> None:
    open_clip(page, ids["beach.mp4"])
    page.keyboard.press("j")
    expect(page.locator("#sentences li").first).to_contain_class("chosen")
    page.keyboard.press("j")
    expect(page.locator("#sentences li").nth(1)).to_contain_class("chosen")
    await_that(page, "Math.abs(document.getElementById('video').currentTime - 1) < 0.05")
    page.keyboard.press("k")
    expect(page.locator("#sentences li").first).to_contain_class("chosen")
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    await_that(page, "Math.abs(document.getElementById('video').currentTime - 1) < 0.05")
    page.keyboard.press("Shift+ArrowLeft")
    await_that(page, "document.getElementById('video').currentTime < 0.05")
    page.keyboard.press("Space")
    await_that(page, "document.getElementById('video').currentTime > 0.2")
    page.keyboard.press("Space")
    await_that(page, "document.getElementById('video').paused")
    page.keyboard.press("/")
    expect(page.locator("#question")).to_be_focused()


def test_a_sentence_is_approved_changed_and_left_out(
    page: Page, shelf: RunningStudio, ids: dict[str, str]
) -> None:
    library, key = Library(shelf.data), ids["beach.mp4"]
    open_clip(page, key, "&s=1")
    first = page.locator("#sentences li").first
    page.keyboard.press("a")
    expect(first.locator(".confidence")).to_have_text("accepted by you")
    page.keyboard.press("a")
    expect(first.locator(".confidence")).not_to_have_text("accepted by you")
    first.get_by_role("button", name="Edit").click()
    expect(page.locator(".edit textarea")).to_have_value(DOG)
    page.locator("header").hover()
    expect(first).to_contain_class("shown")
    page.keyboard.type("A poodle runs on the beach.")
    page.keyboard.press("Enter")
    expect(first.locator(".text")).to_have_text("A poodle runs on the beach.")
    expect(first.locator(".was")).to_have_text(f"The model said: {DOG}")
    page.locator("#sentences li").nth(1).get_by_role("button", name="Reject").click()
    expect(page.locator("#sentences li")).to_have_count(1)
    expect(page.locator("#rejected-list")).to_contain_text(MAN)
    assert [c.text for c in library.captions(key)] == ["A poodle runs on the beach."]
    page.locator("header h1 a").click()
    expect(page.locator("#cards li", has_text="A poodle runs")).to_contain_text("2 checked")
    page.locator("#train").click()
    expect(page.locator("#training-command")).to_contain_text("densevidcap train")
    expect(page.locator("#training-then")).to_contain_text("--model")
    expect(page.locator("#training-text")).to_contain_text("1 sentence of 1 clip")
    expect(page.locator("#training")).to_contain_text(f"at least {LEAST} clips")
    page.locator("#training").get_by_role("button", name="Close").click()
    open_clip(page, key)
    page.locator("#rejected-list button").click()
    expect(page.locator("#sentences li")).to_have_count(2)
    first.get_by_role("button", name="Undo").click()
    expect(first.locator(".text")).to_have_text(DOG)
    assert library.read_corrections(key) == []


def test_delete_asks_and_can_be_undone(page: Page) -> None:
    card = page.locator("#cards li", has_text="kitchen.mp4")
    delete = card.get_by_role("button", name="Delete: kitchen.mp4")
    delete.click()
    expect(page.locator("#ask")).to_be_visible()
    page.keyboard.press("Escape")
    expect(card).to_be_visible()
    delete.click()
    page.locator("#ask-yes").click()
    expect(card).to_have_count(0)
    page.locator("#toast-undo").click()
    expect(card).to_be_visible()
    delete.click()
    page.locator("#ask-yes").click()
    page.locator("#show").select_option("deleted")
    card.get_by_role("button", name="Restore: kitchen.mp4").click()
    expect(page.locator("#none")).to_be_visible()
    page.locator("#show").select_option("all")
    expect(card).to_be_visible()


def test_many_files_are_a_queue_whose_results_appear(
    page: Page, ids: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    dropped = tmp_path / "dropped"
    dropped.mkdir()
    write_clip(dropped / "one.mp4", 1.0)
    write_clip(dropped / "two.mp4", 1.2)
    (dropped / "broken.mp4").write_text("no video")
    (dropped / "notes.txt").write_text("no clip")
    shutil.copy(folder / "clips" / "beach.mp4", dropped / "copy.mp4")
    assert ids
    page.set_input_files("#folder-input", dropped)
    rows = page.locator("#queue-list li")
    expect(rows).to_have_count(4)
    expect(page.get_by_role("alert")).to_have_text("Ignored: notes.txt: not a clip")
    expect(rows.filter(has_text="copy.mp4")).to_contain_text("was here already")
    expect(rows.filter(has_text="broken.mp4")).to_contain_text("cannot be read")
    expect(rows.filter(has_text="broken.mp4").locator("[data-act=retry]")).to_be_visible()
    for name in ("one.mp4", "two.mp4"):
        expect(rows.filter(has_text=name)).to_contain_class("done", timeout=CAPTIONING)
        # Without a reload.
        expect(page.locator("#cards li", has_text=name)).to_be_visible()
    expect(page.locator("#queue-facts")).to_have_text("3 done, 1 failed")
    page.locator("#queue-clear").click()
    expect(page.locator("#queue")).to_be_hidden()


def test_what_waits_is_put_in_order_and_stopped(
    page: Page, shelf: RunningStudio, tmp_path: Path
) -> None:
    clips = [write_clip(tmp_path / f"turn{n}.mp4", 2.1 + n / 10) for n in range(4)]
    rows = page.locator("#queue-list li")
    # Whoever writes to the library keeps the first from its end, and so the others from their turn.
    with Library(shelf.data).writing_alone():
        page.set_input_files("#clip-input", clips)
        expect(rows.filter(has_text="turn0.mp4")).to_contain_class("working")
        for n in range(1, 4):
            expect(rows.filter(has_text=f"turn{n}.mp4")).to_contain_class("waiting")
        last = rows.filter(has_text="turn3.mp4")
        last.locator("[data-act=up]").click()
        expect(rows.locator(".name")).to_have_text([f"turn{n}.mp4" for n in (0, 1, 3, 2)])
        last.locator("[data-act=up]").click()
        expect(rows.locator(".name")).to_have_text([f"turn{n}.mp4" for n in (0, 3, 1, 2)])
        expect(last.locator("[data-act=up]")).to_be_hidden()
        last.locator("[data-act=stop]").click()
        expect(last).to_have_count(0)
    for n in range(3):
        expect(rows.filter(has_text=f"turn{n}.mp4")).to_contain_class("done", timeout=CAPTIONING)
    expect(page.locator("#cards li", has_text="turn3.mp4")).to_have_count(0)


def test_a_move_stands_whatever_is_told_meanwhile(
    page: Page, shelf: RunningStudio, tmp_path: Path
) -> None:
    clips = [write_clip(tmp_path / f"place{n}.mp4", 5.1 + n / 10) for n in range(4)]
    rows = page.locator("#queue-list li")
    moving, held = re.compile("[?]before="), list[Route]()

    def hold(route: Route) -> None:
        held.append(route)

    def read_order() -> dict[str, str]:
        """Names of those that wait, in their order, and ids."""
        listed = shelf.client.get("/api/clips").raise_for_status().json()
        jobs = [job for job in listed if job["state"] == "waiting"]
        return {job["name"]: job["id"] for job in sorted(jobs, key=lambda job: job["ahead"])}

    with Library(shelf.data).writing_alone():
        page.set_input_files("#clip-input", clips)
        expect(page.locator("#queue-list .working")).to_have_text(re.compile("place0.mp4"))
        expect(page.locator("#queue-list .waiting")).to_have_count(3)
        page.route(moving, hold)
        rows.filter(has_text="place3.mp4").locator("[data-act=up]").click()
        expect(rows.locator(".name")).to_have_text([f"place{n}.mp4" for n in (0, 1, 3, 2)])
        # Before the server hears of it, somebody else moves another one.
        known = read_order()
        move = {"before": known["place1.mp4"]}
        shelf.client.put(f"/api/queue/{known['place2.mp4']}", params=move).raise_for_status()
        expect(rows.locator(".name")).to_have_text([f"place{n}.mp4" for n in (0, 3, 2, 1)])
        (route,) = held
        route.continue_()
        page.unroute(moving)
        await_server(lambda: [*read_order()] == [f"place{n}.mp4" for n in (3, 2, 1)])
        expect(rows.locator(".name")).to_have_text([f"place{n}.mp4" for n in (0, 3, 2, 1)])
        expect(rows.filter(has_text="place3.mp4").locator(".state")).to_have_text("1 clip ahead")
        for n in range(1, 4):
            rows.filter(has_text=f"place{n}.mp4").locator("[data-act=stop]").click()
        expect(rows).to_have_count(1)
    expect(rows).to_contain_class("done", timeout=CAPTIONING)


def test_what_is_stopped_after_it_was_sent_is_not_captioned(
    page: Page, shelf: RunningStudio, tmp_path: Path
) -> None:
    lengths = {"regret.mp4": 3.1, "then.mp4": 3.3}
    clips = [write_clip(tmp_path / name, seconds) for name, seconds in lengths.items()]
    # A browser has six connections to a server: pictures that wait for it would keep the clip back.
    page.wait_for_load_state("networkidle")
    shelf.process.send_signal(signal.SIGSTOP)  # what comes is in its hands, and not answered yet
    try:
        page.set_input_files("#clip-input", clips)
        row = page.locator("#queue-list li", has_text="regret.mp4")
        expect(row).to_contain_text("checking the file")
        row.locator("[data-act=stop]").click()
        expect(row).to_contain_text("stopping")
    finally:
        shelf.process.send_signal(signal.SIGCONT)
    expect(row).to_have_count(0)
    other = page.locator("#queue-list li", has_text="then.mp4")
    expect(other).to_contain_class("done", timeout=CAPTIONING)
    expect(row).to_have_count(0)
    expect(page.locator("#cards li", has_text="regret.mp4")).to_have_count(0)


def test_a_clip_that_is_here_already_is_opened(page: Page, folder: Path) -> None:
    page.set_input_files("#clip-input", folder / "clips" / "beach.mp4")
    expect(page.locator("#sentences li").first).to_be_visible()
    expect(page.locator("#copied")).to_have_text("beach.mp4 was here already.")


def test_results_of_the_command_line_are_opened_whatever_they_are(
    page: Page, folder: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "all"
    # The studio's own folder and the index are in use, and files of theirs come and go.
    others = shutil.ignore_patterns("studio", "index*")
    shutil.copytree(folder / "holiday.library", copy / "holiday.library", ignore=others)
    shutil.copy(folder / "clips" / "beach.mp4", copy)
    (copy / "notes.json").write_text("{}")
    (copy / "stray.mp4").write_bytes(b"")
    page.set_input_files("#results-input", copy)
    rows = page.locator("#opened-list li")
    expect(rows.filter(has_text="beach.mp4")).to_contain_text(DOG)
    expect(rows.filter(has_text="kitchen.mp4")).to_be_visible()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("notes.json: not captions")
    expect(alert).to_contain_text("stray.mp4: no result belongs to it")
    expect(alert).not_to_contain_text("lexica")
    rows.get_by_role("button", name="beach.mp4").click()
    expect(page.locator("#sentences li")).to_have_count(2)
    await_that(page, "document.getElementById('video').readyState >= 2")


def test_a_clip_whose_file_is_gone_is_told(
    page: Page, shelf: RunningStudio, tmp_path: Path
) -> None:
    clip = write_clip(tmp_path / "lost.mp4", 1.7)
    key = shelve(Library(shelf.data), clip)
    clip.unlink()
    page.goto(f"/#{key}")
    expect(page.locator("#sentences li").first).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("lost.mp4: its file is gone")


def test_the_current_stage_stands_in_its_line(page: Page) -> None:
    """The report's mark of the time on the timeline is something else."""
    page.evaluate("""() => {
        document.getElementById("stages").innerHTML = '<li class="current">x</li>';
        document.getElementById("progress").hidden = false;
    }""")
    position = "getComputedStyle(document.querySelector('#stages li')).position"
    assert page.evaluate(position) == "static"


@pytest.mark.skipif(AXE is None, reason=NO_AXE)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_there_are_no_barriers(
    browser: Browser, shelf: RunningStudio, ids: dict[str, str], scheme: Any, tmp_path: Path
) -> None:
    assert AXE is not None
    with visit(browser, shelf.url, refusals=True, color_scheme=scheme) as page:
        (tmp_path / "bad.mp4").write_text("no video")
        (tmp_path / "worse.mp4").write_text("no video")
        page.set_input_files("#clip-input", [tmp_path / "bad.mp4", tmp_path / "worse.mp4"])
        expect(page.locator("#queue-list .refused")).to_have_count(2)
        page.locator("#question").fill("dog")
        expect(page.locator("#hit-list li").first).to_be_visible()
        assert list_barriers(page, AXE) == []
        page.locator("#cards").get_by_role("button", name="Delete").first.click()
        assert list_barriers(page, AXE) == []
        page.keyboard.press("Escape")
        open_clip(page, ids["beach.mp4"], "&s=1")
        page.keyboard.press("x")
        expect(page.locator("#rejected")).to_be_visible()
        page.locator("#sentences li").first.get_by_role("button", name="Edit").click()
        assert list_barriers(page, AXE) == []
        page.keyboard.press("Escape")
        page.locator("#rejected-list button").click()
        expect(page.locator("#rejected")).to_be_hidden()


def test_a_phone_shows_a_library_without_scrolling_sideways(
    browser: Browser, shelf: RunningStudio, ids: dict[str, str]
) -> None:
    phone: dict[str, Any] = {
        "viewport": {"width": 360, "height": 740},
        "is_mobile": True,
        "has_touch": True,
    }
    # Another test leaves a clip without a file, of which there is no picture.
    with visit(browser, shelf.url, refusals=True, **phone) as page:
        expect(page.locator("#cards li").first).to_be_visible()
        width = "document.documentElement.scrollWidth"
        assert page.evaluate(width) <= 360
        page.locator("#question").fill("dog")
        expect(page.locator("#hit-list li").first).to_be_visible()
        assert page.evaluate(width) <= 360
        open_clip(page, ids["beach.mp4"])
        page.locator("#downloads summary").tap()
        expect(page.locator("#formats a").first).to_be_in_viewport(ratio=1)
        assert page.evaluate(width) <= 360


def test_nothing_moves_for_those_who_want_it_so(browser: Browser, shelf: RunningStudio) -> None:
    with visit(browser, shelf.url, refusals=True, reduced_motion="reduce") as page:
        moving = page.evaluate(
            "getComputedStyle(document.getElementById('video')).transitionDuration"
        )
        assert moving == "0s"
