"""How long a library's page takes to show clips, and to answer questions.

    python -m scripts.measure_shelf LIBRARY --clips 200

Needs a browser (`make browser`). Clips of LIBRARY are copied under other identities until there are
that many; the studio is the real one, and so is the browser. Beside seconds by the clock, which a
busy machine makes longer, stand those of the processor: of the page's main thread
(`Performance.getMetrics`), and of the search in this process.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import click
from playwright.sync_api import Browser, Page, sync_playwright
from scripts.make_pictures import serve

from densevidcap.library.store import Entry, Library, Source
from densevidcap.studio import librarian
from densevidcap.studio.shelf import Shelf

QUESTIONS = (
    *("a man in a car", "a cat", "a dog on the beach", "somebody talking", "a bear in a tree"),
    *("a bicycle", "a woman cooking", "people", "a cup of coffee", "xylophone"),
)
PATIENCE = 120_000
"""Milliseconds."""


def copy_clips(library: Library, folder: Path, count: int) -> None:
    """Fill a new library in the folder with so many clips."""
    new, places = Library.make(folder / "many.library"), folder / "clips"
    places.mkdir()
    for number, (source, place) in enumerate(islice(cycle(library.list_files()), count)):
        assert source.identity is not None
        entry, words = library.read_entry(source.identity), library.read_words(source.identity)
        assert words is not None
        identity = hashlib.blake2b(f"{entry.identity} {number}".encode(), digest_size=16)
        copy = Entry(identity.hexdigest(), entry.recipe, entry.captions, entry.seconds)
        new.write(copy, words, library.read_lexicon(words.digest))
        link = places / f"{number:05d}-{Path(place).name}"
        link.symlink_to(place)
        new.note(Source(str(link), link.name, "", copy.identity))


def await_pictures(page: Page) -> None:
    """Those on the screen; while they are drawn, questions wait for a processor."""
    seen = """() => [...document.querySelectorAll("#cards img, #hit-list img")].filter((each) =>
        each.getBoundingClientRect().top < innerHeight).every((each) => each.naturalWidth > 0)"""
    while not page.evaluate(seen):
        page.wait_for_timeout(20)


def measure(browser: Browser, url: str, visit: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})
    began = time.perf_counter()
    page.goto(url)
    page.wait_for_selector("#cards li", timeout=PATIENCE)
    cards = time.perf_counter() - began
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    await_pictures(page)
    pictures = time.perf_counter() - began
    metrics = client.send("Performance.getMetrics")["metrics"]
    ticks = next(each["value"] for each in metrics if each["name"] == "TaskDuration")
    click.echo(
        f"{visit} visit: first paint {paint / 1000:.2f} s, cards {cards:.2f} s,"
        f" pictures on the screen {pictures:.2f} s; {ticks:.2f} CPU-seconds of the page's thread"
    )
    answers, hits = [], []
    for question in QUESTIONS:
        began = time.perf_counter()
        found = page.evaluate(
            "q => fetch(`api/find?question=${encodeURIComponent(q)}`).then((a) => a.json())",
            question,
        )
        answers.append((time.perf_counter() - began, found["seconds"]))
        began = time.perf_counter()
        page.fill("#question", question)
        page.press("#question", "Enter")
        while question not in page.inner_text("#hits-title"):
            page.wait_for_timeout(5)
        hits.append(time.perf_counter() - began)
        await_pictures(page)
    whole, looking = zip(*answers, strict=True)
    click.echo(
        f"{visit} visit: a question {median(whole):.3f} s over HTTP (of these {median(looking):.3f}"
        f" s looking), at best {min(whole):.3f} s, the slowest {max(whole):.3f} s; from Enter to"
        f" hits {median(hits):.3f} s, at best {min(hits):.3f} s"
    )
    page.close()


def search(folder: Path) -> None:
    """As the studio does it, in this process."""
    revision = Shelf(folder).revision
    librarian.find(folder, revision, QUESTIONS[0], 24)
    spent = []
    for question in QUESTIONS:
        began = time.process_time()
        librarian.find(folder, revision, question, 24)
        spent.append(time.process_time() - began)
    click.echo(f"a question: {median(spent):.3f} CPU-seconds, the slowest {max(spent):.3f}")


@click.command()
@click.argument("library", type=click.Path(path_type=Path, exists=True))
@click.option("--clips", default=200, show_default=True)
@click.option("--visits", default=5, show_default=True)
def main(library: Path, clips: int, visits: int) -> None:
    """Measure the page of LIBRARY's clips, repeated until there are so many."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        copy_clips(Library(library), folder, clips)
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-background-networking"]
        )
        with serve(folder / "many.library") as url:
            for visit in ("first", "second", *(["another"] * (visits - 2))):
                measure(browser, url, visit)
        browser.close()
        search(folder / "many.library")


if __name__ == "__main__":
    main()
