"""Clips that come and go on the page, in a real browser: dropped, paged, tried again, deleted."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from tests.data.made_clips import tone, write_video
from tests.export.made_captions import make_caption, make_captions
from tests.library.made_library import WORDS, make_words
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
from tests.studio.made_film import write_film
from tests.studio.made_shelf import DOG, MAN, shelve
from tests.studio.running import RunningStudio
from tests.studio.small_model import write_clip

from densevidcap.export import save
from densevidcap.library.shown import WordRecord
from densevidcap.library.store import Entry, Library, Source

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_BROWSER)
PAGE = 48
"""Clips that the page shows at once."""


def drop(page: Page, *paths: Path) -> None:
    """From outside of the browser, as a file manager does it."""
    client = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        event = {"type": kind, "x": 600, "y": 600, "data": data}
        client.send("Input.dispatchDragEvent", event)


def test_files_and_folders_are_dropped_anywhere(page: Page, tmp_path: Path) -> None:
    inner = tmp_path / "holiday" / "day"
    inner.mkdir(parents=True)
    clips = [write_clip(inner.parent / "sea.mp4", 1.1), write_clip(inner / "hill.mp4", 1.3)]
    (inner / "notes.txt").write_text("no clip")
    single = write_clip(tmp_path / "single.mp4", 1.4)
    drop(page, clips[0].parent, single)
    rows = page.locator("#queue-list li")
    for name in ("sea.mp4", "hill.mp4", "single.mp4"):
        expect(rows.filter(has_text=name)).to_contain_class("done", timeout=CAPTIONING)
        expect(page.locator("#cards li", has_text=name)).to_be_visible()
    expect(page.get_by_role("alert")).to_have_text("Ignored: notes.txt: not a clip")


def test_one_clip_is_stopped_while_it_is_watched(
    page: Page, shelf: RunningStudio, tmp_path: Path
) -> None:
    # Whoever writes to the library keeps it from its end.
    with Library(shelf.data).writing_alone():
        drop(page, write_clip(tmp_path / "watched.mp4", 1.6))
        expect(page.locator("#progress-title")).to_have_text("watched.mp4")
        await_that(page, "location.hash.length > 1")
        page.locator("#cancel").click()
        expect(page.locator("#cards li").first).to_be_visible()
    expect(page.locator("#cards li", has_text="watched.mp4")).to_have_count(0)
    assert all(job["name"] != "watched.mp4" for job in shelf.client.get("/api/clips").json())


def test_what_did_not_arrive_is_sent_again(page: Page, tmp_path: Path) -> None:
    lengths = {"lost.mp4": 2.3, "found.mp4": 2.5}  # alike, they would be one clip
    clips = [write_clip(tmp_path / name, seconds) for name, seconds in lengths.items()]

    def lose(route: Route) -> None:
        route.abort()

    page.route("**/api/clips?name=lost.mp4", lose)
    page.set_input_files("#clip-input", clips)
    row = page.locator("#queue-list li", has_text="lost.mp4")
    expect(row).to_contain_text("The studio does not answer")
    page.unroute("**/api/clips?name=lost.mp4")
    row.get_by_role("button", name="Try again: lost.mp4").click()
    expect(row).to_contain_class("done", timeout=CAPTIONING)


def test_what_is_deleted_for_good_is_gone(page: Page, shelf: RunningStudio, tmp_path: Path) -> None:
    library = Library(shelf.data)
    clip = write_clip(tmp_path / "doomed.mp4", 1.8)
    key = shelve(library, clip, make_caption("A dog is doomed."))
    page.locator("#filter").fill("doomed")
    card = page.locator("#cards li", has_text="doomed.mp4")
    card.get_by_role("button", name="Delete: doomed.mp4").click()
    page.locator("#ask-yes").click()
    page.locator("#show").select_option("deleted")
    forget = card.get_by_role("button", name="Delete for good: doomed.mp4")
    forget.click()
    page.locator("#ask-no").click()
    expect(card).to_be_visible()
    forget.click()
    page.locator("#ask-yes").click()
    expect(card).to_have_count(0)
    assert not Library(shelf.data).is_removed(key)
    assert clip.exists()


def test_shown_are_those_that_were_asked_for_in_the_order_asked_for(
    page: Page, ids: dict[str, str]
) -> None:
    names = page.locator("#cards .name")

    def choose(show: str, sort: str) -> None:
        page.locator("#show").select_option(show)
        page.locator("#sort").select_option(sort)

    made = {"beach.mp4", "kitchen.mp4", "old.avi"}
    assert made == {*ids}
    for sort, first in (("long", "beach.mp4"), ("unsure", "kitchen.mp4"), ("sure", "old.avi")):
        page.locator("#filter").fill("a")
        choose("all", sort)
        shown = [name for name in names.all_inner_texts() if name in made]
        expect(page.locator("#cards li", has_text=first)).to_be_visible()
        await_that(
            page,
            "[...document.querySelectorAll('#cards .name')].map((each) => each.textContent)"
            f".filter((each) => {sorted(made)!r}.includes(each))[0] === '{first}'",
        )
        assert {*shown} == made
    page.locator("#filter").fill("")
    choose("missing", "name")
    expect(page.locator("#none")).to_be_visible()
    # Nothing was put right yet, so there is nothing to learn from.
    expect(page.locator("#train")).to_be_hidden()
    open_clip(page, ids["kitchen.mp4"], "&s=1")
    page.keyboard.press("a")
    expect(page.locator("#sentences .confidence").first).to_have_text("accepted by you")
    page.locator("#back").click()
    expect(page.locator("#train")).to_be_visible()
    choose("corrected", "name")
    expect(names).to_have_text(["kitchen.mp4"])
    choose("unchecked", "name")
    expect(names.first).to_have_text("beach.mp4")
    expect(page.locator("#cards li", has_text="kitchen.mp4")).to_have_count(0)


def test_cards_and_hits_tell_how_sure_they_are(page: Page) -> None:
    page.locator("#filter").fill("old.avi")
    expect(page.locator("#cards li")).to_have_count(1)
    expect(page.locator("#shelf-count")).to_contain_text("1 of ")
    expect(page.locator("#cards .more")).to_have_text("90% sure")
    page.locator("#question").fill("dog on the beach")
    hit = page.locator("#hit-list li", has_text=DOG)
    expect(hit.locator(".more")).to_have_text("80% sure")
    expect(hit.locator(".seen")).to_contain_text("Seen: dog\u00a081%")
    expect(hit.locator(".length")).to_contain_text("at 0:0")
    expect(page.locator("#hits-why")).to_contain_text("anywhere in those seconds")
    page.locator("#hits-clear").click()
    expect(page.locator("#hits")).to_be_hidden()
    expect(page.locator("#question")).to_have_value("")


def test_the_way_back_leads_to_the_hits_or_to_all(page: Page, ids: dict[str, str]) -> None:
    page.locator("#question").fill("dog on the beach")
    page.locator("#hit-list a").first.click()
    expect(page.locator("#clip-name")).to_have_text("beach.mp4")
    page.locator("#back").click()
    expect(page.locator("#hits-title")).to_contain_text("dog on the beach")
    page.locator("#hits-clear").click()
    open_clip(page, ids["old.avi"])
    expect(page.locator("#back")).to_have_text("← All clips")
    page.locator("#back").click()
    expect(page.locator("#cards li").first).to_be_visible()


def test_results_without_an_address_have_a_way_back(page: Page, tmp_path: Path) -> None:
    names = ("one", "two", "three")
    for name in names:
        said = make_caption(f"A dog is {name}."), make_caption(f"A man is {name}.")
        save(make_captions(f"{name}.mp4", *said), tmp_path / f"{name}.mp4.json")
    page.set_input_files("#results-input", tmp_path)
    rows = page.locator("#opened-list li")
    expect(rows).to_have_count(3)
    for name in names:
        rows.get_by_role("button", name=f"{name}.mp4").click()
        expect(page.locator("#clip-name")).to_have_text(f"{name}.mp4")
        expect(page.locator("#clip-acts")).to_be_hidden()
        expect(page.locator("#sentences li")).to_have_count(2)
        page.locator("#back").click()
        expect(rows.first).to_be_visible()


def test_a_clip_of_the_command_line_is_looked_at_again(
    page: Page, shelf: RunningStudio, tmp_path: Path
) -> None:
    clip = write_clip(tmp_path / "again.mp4", 1.9)
    key = shelve(Library(shelf.data), clip, make_caption("A dog runs again."))
    open_clip(page, key)
    expect(page.locator("#sliders")).to_be_hidden()
    expect(page.locator("#look-why")).to_be_visible()
    page.locator("#look").click()
    expect(page.locator("#sliders")).to_be_visible(timeout=CAPTIONING)
    expect(page.locator("#look")).to_be_hidden()
    page.locator("#sentences .text button").first.click()
    expect(page.locator("#scale")).to_be_visible()


def test_sound_is_a_strip_where_there_is_any(
    page: Page, shelf: RunningStudio, ids: dict[str, str], tmp_path: Path
) -> None:
    clip = write_video(tmp_path / "song.mp4", 40, sounds=[tone(4.0)])
    open_clip(page, shelve(Library(shelf.data), clip, make_caption("A man sings.")))
    expect(page.locator("#sound")).to_be_visible()
    await_that(page, "document.getElementById('sound').naturalWidth > 0")
    # It is as wide as the lanes, and a press on it leads to that time.
    box = page.locator("#sound").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    await_that(page, "Math.abs(document.getElementById('video').currentTime - 2) < 0.1")
    open_clip(page, ids["beach.mp4"])
    expect(page.locator("#sound")).to_be_hidden()


def test_the_figure_on_the_picture_is_the_one_in_the_list(
    browser: Browser, studio: RunningStudio, done: str
) -> None:
    with visit(browser, studio.url) as page:
        open_clip(page, done)
        for rank, caption in enumerate(studio.captions(done)):
            row = page.locator("#sentences li").nth(rank)
            for evidence in caption["evidence"]:
                told = f"{evidence['word']} {round(100 * evidence['probability'])}%"
                expect(row.locator(".evidence button", has_text=told)).to_have_count(1)
                row.locator(f".text [data-word={evidence['word']}]").first.click()
                figure = f"“{evidence['word']}”: {told.partition(' ')[2]} in this sentence’s region"
                expect(page.locator("#glow")).to_contain_text(figure)
                page.keyboard.press("Escape")
                expect(page.locator("#glow")).to_be_empty()


def test_twelve_sentences_have_twelve_colours_and_say_in_which_order_they_are(
    page: Page, tmp_path: Path
) -> None:
    said = (make_caption(f"A dog is number {number}.") for number in range(12))
    save(make_captions("dozen.mp4", *said), tmp_path / "dozen.json")
    page.set_input_files("#results-input", tmp_path)
    expect(page.locator("#sentences li")).to_have_count(12)
    colours = page.evaluate("""() => [...document.querySelectorAll("#sentences .rank")].map(
        (each) => getComputedStyle(each.closest("li")).getPropertyValue("--colour"))""")
    assert len({*colours}) == 12
    expect(page.locator("#reading")).to_contain_text("Best first")


@pytest.mark.skipif(AXE is None, reason=NO_AXE)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_maps_menus_and_dialogs_have_no_barriers(
    browser: Browser, studio: RunningStudio, shelf: RunningStudio, done: str, scheme: Any
) -> None:
    assert AXE is not None
    with visit(browser, studio.url, color_scheme=scheme) as page:
        expect(page.locator("#cards li").first).to_be_visible()
        assert list_barriers(page, AXE) == []
        open_clip(page, done)
        page.locator("#sentences .text button").first.click()
        expect(page.locator("#scale")).to_be_visible()
        page.locator("#downloads summary").click()
        assert list_barriers(page, AXE) == []
    with visit(browser, shelf.url, refusals=True, color_scheme=scheme) as page:
        page.locator("#question").fill("xylophone")
        expect(page.locator("#hits-title")).to_contain_text("Nothing matches")
        assert list_barriers(page, AXE) == []
        page.evaluate("document.getElementById('training').showModal()")
        assert list_barriers(page, AXE) == []


def test_copying_says_so_only_if_it_worked(
    browser: Browser, shelf: RunningStudio, ids: dict[str, str]
) -> None:
    for refused, told in ((False, "Link copied."), (True, "address bar")):
        with visit(browser, shelf.url, refusals=True, permissions=["clipboard-write"]) as page:
            open_clip(page, ids["beach.mp4"])
            if refused:
                # As over a network without TLS.
                page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
            page.locator("#copy").click()
            expect(page.locator("#copied")).to_contain_text(told)


def test_a_corrected_clip_is_exported_with_the_correction(page: Page, ids: dict[str, str]) -> None:
    open_clip(page, ids["beach.mp4"], "&s=1")
    page.keyboard.press("e")
    page.keyboard.type("A poodle runs.")
    page.keyboard.press("Enter")
    expect(page.locator("#sentences .text").first).to_have_text("A poodle runs.")
    page.locator("#downloads summary").click()
    with page.expect_download() as download:
        page.locator("#formats").get_by_text(".srt", exact=True).click()
    text = download.value.path().read_text()
    assert "A poodle runs." in text
    assert DOG not in text
    assert MAN in text
    page.locator("#sentences li").first.get_by_role("button", name="Undo").click()
    expect(page.locator("#sentences .text").first).to_have_text(DOG)


def test_a_report_is_headed_by_the_name_of_its_clip(page: Page, ids: dict[str, str]) -> None:
    open_clip(page, ids["beach.mp4"])
    page.locator("#downloads summary").click()
    with page.expect_download() as download:
        page.locator("#formats").get_by_text(".html", exact=True).click()
    assert "<h1>beach.mp4</h1>" in download.value.path().read_text()


def test_a_film_that_is_too_long_is_not_called_too_large(
    browser: Browser, studio: RunningStudio, tmp_path: Path
) -> None:
    with visit(browser, studio.url, refusals=True) as page:
        page.set_input_files("#clip-input", write_film(tmp_path / "long.mp4"))
        expect(page.get_by_role("alert")).to_contain_text("long.mp4: too long")
        expect(page.get_by_role("alert")).not_to_contain_text("too large")


def test_many_clips_stand_on_pages(page: Page, shelf: RunningStudio, tmp_path: Path) -> None:
    """The last of this file: it leaves many."""
    library = Library(shelf.data)
    clip = write_clip(tmp_path / "many.mp4", 1.0)
    for number in range(PAGE + 12):
        identity = hashlib.blake2b(f"many {number}".encode(), digest_size=16).hexdigest()
        captions = make_captions("many.mp4", make_caption(f"A dog is number {number}."))
        record = WordRecord(WORDS.digest, (make_words({}),))
        library.write(Entry(identity, "recipe", captions, 1.0), record, WORDS)
        link = tmp_path / f"many-{number:03}.mp4"
        link.symlink_to(clip)
        library.note(Source(str(link), link.name, "", identity))
    page.reload()
    page.locator("#filter").fill("many-")
    page.locator("#sort").select_option("name")
    expect(page.locator("#range")).to_have_text(f"1–{PAGE} of {PAGE + 12}")
    expect(page.locator("#cards li")).to_have_count(PAGE)
    expect(page.locator("#before")).to_be_disabled()
    page.locator("#after").click()
    expect(page.locator("#range")).to_have_text(f"{PAGE + 1}–{PAGE + 12} of {PAGE + 12}")
    expect(page.locator("#cards li")).to_have_count(12)
    expect(page.locator("#after")).to_be_disabled()
    page.locator("#before").click()
    expect(page.locator("#cards .name").first).to_have_text("many-000.mp4")
