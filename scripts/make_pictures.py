"""Take the pictures of the studio in the docs from the live page, with the bundled model.

    python scripts/make_pictures.py samples docs/pictures

Needs a browser (`make browser`). All clips of the folder are dropped on the page of a new library,
with a film that is joined from them; what is taken is what a visitor sees. `--all` takes each of
the seven views in light, in dark and on a phone. With `--library` the library is kept, and shown
as it is the next time.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import av
import click
import numpy as np
from av.video.frame import VideoFrame
from PIL import Image, ImageOps
from playwright.sync_api import Browser, Page, sync_playwright

DESKTOP = {"width": 1200, "height": 820}
PHONE = {"width": 390, "height": 844}
PATIENCE = 1_800_000
"""Milliseconds, for captioning clips."""
AT = 0.35
"""Share of the clip at which the picture is taken."""
QUESTION = "a man in a car"
FILM = "film.mp4"
FILM_SIZE, FILM_RATE = (320, 180), 10
FILM_SECONDS = 200
FILM_AT = 16.5
"""Seconds, at which somebody is in sight."""
CORRECTION = "A man in a suit is talking in a car."
LOOKS = (("", DESKTOP, "light"), ("-dark", DESKTOP, "dark"), ("-phone", PHONE, "dark"))


@contextmanager
def serve(library: Path) -> Iterator[str]:
    """The address of a studio that ends with the block."""
    command = [sys.executable, "-m", "densevidcap", "serve", str(library), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def join_film(clips: Path, path: Path) -> None:
    """The folder's clips one after the other, again and again: mirrored, and nearer every time."""
    count, time = 0, 0
    with av.open(str(path), "w") as film:
        stream = film.add_stream("libx264", rate=FILM_RATE, options={"preset": "ultrafast"})
        stream.width, stream.height = FILM_SIZE
        stream.pix_fmt = "yuv420p"
        while count < FILM_SECONDS * FILM_RATE:
            for clip in sorted(clips.glob("*.mp4")):
                for picture in read_pictures(clip):
                    near = ImageOps.crop(picture, round(0.03 * time * picture.height))
                    shown = ImageOps.mirror(near) if time % 2 else near
                    padded = np.asarray(ImageOps.pad(shown, FILM_SIZE).convert("RGB"))
                    frame = VideoFrame.from_ndarray(padded)
                    frame.pts, frame.time_base = count, Fraction(1, FILM_RATE)
                    film.mux(stream.encode(frame))
                    count += 1
            time += 1
        film.mux(stream.encode())


def read_pictures(clip: Path) -> Iterator[Image.Image]:
    """Ten a second."""
    shown = -1
    with av.open(str(clip)) as container:
        for frame in container.decode(video=0):
            place = int(FILM_RATE * (frame.time or 0))
            if place > shown:
                shown = place
                yield frame.to_image()


def fill(browser: Browser, url: str, clips: Path, out: Path, every: bool) -> None:
    """Drop the clips, take the queue while it is in work, and wait for its end."""
    page = browser.new_page(viewport=DESKTOP)  # type: ignore[arg-type]
    page.goto(url)
    page.wait_for_selector("#drop")
    page.set_input_files("#folder-input", str(clips))
    page.wait_for_selector("#queue-list .done", timeout=PATIENCE)
    page.wait_for_selector("#queue-list .working", timeout=PATIENCE)
    page.wait_for_timeout(2000)
    for name, size, scheme in LOOKS if every else LOOKS[:1]:
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.wait_for_timeout(500)
        save(page, out / f"studio-queue{name}.jpg")
    while page.locator("#queue-list li:not(.done, .known, .failed, .refused)").count():
        page.wait_for_timeout(500)
    page.close()


def search(page: Page) -> None:
    page.fill("#question", QUESTION)
    page.wait_for_selector("#hit-list a", timeout=PATIENCE)
    # Those below the screen are not asked for yet.
    seen = """() => [...document.querySelectorAll("#hit-list img")].filter((each) =>
        each.getBoundingClientRect().top < innerHeight).every((each) => each.naturalWidth > 0)"""
    while not page.evaluate(seen):
        page.wait_for_timeout(100)


def open_first(page: Page) -> None:
    """The best hit's clip, at a share of it."""
    search(page)
    page.locator("#hit-list a").first.click()
    page.wait_for_selector("#sentences li", timeout=PATIENCE)
    while page.evaluate("document.getElementById('video').readyState < 2"):
        page.wait_for_timeout(100)
    page.evaluate(
        "share => { const video = document.getElementById('video');"
        " video.currentTime = share * video.duration; }",
        AT,
    )


def light_word(page: Page) -> None:
    open_first(page)
    page.locator("#sentences .text button").first.click()
    page.wait_for_selector("#scale:visible", timeout=PATIENCE)


def correct(page: Page) -> None:
    """One sentence is approved of, one is changed, and one is being changed."""
    open_first(page)
    rows = page.locator("#sentences li")
    rows.nth(0).locator("[data-act=a]").click()
    rows.nth(0).locator("[aria-pressed=true][data-act=a]").wait_for()
    rows.nth(1).locator("[data-act=e]").click()
    rows.nth(1).locator("textarea").fill(CORRECTION)
    rows.nth(1).get_by_role("button", name="Save").click()
    rows.nth(1).locator("[data-act=undo]:visible").wait_for()
    rows.nth(2).locator("[data-act=e]").click()


def undo_corrections(page: Page) -> None:
    """The next picture is of the same library."""
    rows = page.locator("#sentences li")
    rows.nth(2).get_by_role("button", name="Cancel").click()
    rows.nth(1).locator("[data-act=undo]").click()
    rows.nth(1).locator("[data-act=undo]").wait_for(state="hidden")
    rows.nth(0).locator("[data-act=a]").click()
    rows.nth(0).locator("[aria-pressed=false][data-act=a]").wait_for()


def open_film(page: Page) -> None:
    """In its first chapter, with all of the page in sight."""
    page.locator("#filter").fill(FILM)
    page.locator("#cards a", has_text=FILM).click()
    page.wait_for_selector("#chapter-list button", timeout=PATIENCE)
    while page.evaluate("document.getElementById('video').readyState < 2"):
        page.wait_for_timeout(100)
    page.locator("#seek").fill(str(FILM_AT))
    page.evaluate("document.activeElement.blur()")


VIEWS: dict[str, Callable[[Page], None]] = {
    "library": lambda _: None,
    "search": search,
    "sentences": open_first,
    "words": light_word,
    "correction": correct,
    "film": open_film,
}


def take(browser: Browser, url: str, view: str, look: tuple[str, dict[str, int], str]) -> bytes:
    _, size, scheme = look
    page = browser.new_page(
        viewport=size,  # type: ignore[arg-type]
        color_scheme=scheme,  # type: ignore[arg-type]
        device_scale_factor=2 if size is PHONE else 1,
    )
    page.goto(url)
    page.wait_for_selector("#cards li", timeout=PATIENCE)
    VIEWS[view](page)
    page.mouse.move(1, 1)  # what the pointer was left on would be shown alone
    # Pictures come one after the other.
    page.wait_for_timeout(4000)
    picture = page.screenshot()
    if view == "correction":
        undo_corrections(page)
    page.close()
    return picture


def save(page: Page | bytes, out: Path) -> None:
    data = page if isinstance(page, bytes) else page.screenshot()
    picture = Image.open(BytesIO(data)).convert("RGB")
    picture.save(out, quality=85)
    click.echo(f"{out}: {picture.width} x {picture.height}")


@click.command()
@click.argument("clips", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--library",
    type=click.Path(path_type=Path, file_okay=False),
    help="Made if it is not there, and kept; the queue is taken only while it is made.",
)
@click.option("--view", "views", multiple=True, type=click.Choice([*VIEWS]), help="Only these.")
@click.option("--all", "every", is_flag=True, help="Each view in light, in dark and on a phone.")
def main(
    clips: Path, folder: Path, library: Path | None, views: tuple[str, ...], every: bool
) -> None:
    """Take the pictures of the CLIPS' pages into FOLDER."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    folder.mkdir(exist_ok=True, parents=True)
    is_new = library is None or not library.exists()
    with (
        TemporaryDirectory() as data,
        serve(library or Path(data) / "samples.library") as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-background-networking"]
        )
        if is_new:
            dropped = Path(data) / "clips"
            shutil.copytree(clips, dropped, ignore=shutil.ignore_patterns("*.txt"))
            join_film(clips, dropped / FILM)
            fill(browser, url, dropped, folder, every)
        for view in views or VIEWS:
            for look in LOOKS if every else LOOKS[:1]:
                picture = take(browser, url, view, look)
                save(picture, folder / f"studio-{view}{look[0]}.jpg")
        if not every and not views:
            save(take(browser, url, "sentences", LOOKS[2]), folder / "studio-phone.jpg")
        browser.close()


if __name__ == "__main__":
    main()
