"""Take the pictures of the studio in the docs from the live page, with the bundled model.

    python scripts/make_pictures.py samples/carphone.mp4 docs/pictures

Needs a browser (`make browser`). A studio of its own captions the clip; what is taken is what
a visitor sees.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

DESKTOP = {"width": 1200, "height": 820}
PHONE = {"width": 390, "height": 844}
PATIENCE = 300_000
"""Milliseconds, for captioning a clip."""
AT = 0.35
"""Share of the clip at which the picture is taken."""


@contextmanager
def serve(data: Path) -> Iterator[str]:
    """The address of a studio that ends with the block."""
    command = [sys.executable, "-m", "densevidcap", "serve", "--port", "0", "--data", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def caption(page: Page, url: str, clip: Path) -> str:
    """Drop the clip, and wait for its sentences; returns the address of its page."""
    page.goto(url)
    page.set_input_files("#clip-input", str(clip))
    page.wait_for_selector("#sentences li", timeout=PATIENCE)
    return page.url


def take(browser: Browser, address: str, size: dict[str, int], dark: bool, out: Path) -> None:
    page = browser.new_page(
        viewport={"width": size["width"], "height": size["height"]},
        color_scheme="dark" if dark else "light",
        device_scale_factor=2 if size is PHONE else 1,
    )
    page.goto(address)
    page.wait_for_selector("#sentences li", timeout=PATIENCE)
    page.evaluate(
        "share => { const video = document.getElementById('video');"
        " video.currentTime = share * video.duration; }",
        AT,
    )
    page.wait_for_timeout(1500)
    picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
    picture.save(out, quality=85)
    click.echo(f"{out}: {picture.width} x {picture.height}")
    page.close()


@click.command()
@click.argument("clip", type=click.Path(path_type=Path, exists=True))
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def main(clip: Path, folder: Path) -> None:
    """Take the pictures of CLIP's page into FOLDER."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    folder.mkdir(exist_ok=True)
    with (
        TemporaryDirectory() as data,
        serve(Path(data) / "studio") as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-background-networking"]
        )
        address = caption(browser.new_page(), url, clip)
        take(browser, address, DESKTOP, False, folder / "studio-sentences.jpg")
        take(browser, address, PHONE, True, folder / "studio-phone.jpg")
        browser.close()


if __name__ == "__main__":
    main()
