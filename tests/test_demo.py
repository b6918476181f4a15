"""The page of `make demo`, of a small model's sentences, and the next steps that it prints."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.studio.browsing import AXE, CHROMIUM, list_barriers, run_browser
from tests.studio.small_model import write_clip, write_model

from densevidcap.cli import root

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "scripts"


@pytest.mark.thorough
def test_the_page_has_films_sentences_and_what_to_do_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path / "small")
    (tmp_path / "samples").mkdir()
    write_clip(tmp_path / "samples" / "rocket.mp4", 1)
    command = "caption samples --library out/library --model small --format mp4 --format html"
    few = ["--set", "frames.most=3", "--set", "selection.sure=0"]
    done = CliRunner().invoke(root, [*command.split(), *few])
    assert done.exit_code == 0, done.output
    monkeypatch.setattr(sys, "argv", ["demo_page.py", "out"])
    runpy.run_path(str(SCRIPTS / "demo_page.py"), run_name="__main__")
    printed, page = capsys.readouterr().out, (tmp_path / "out" / "index.html").read_text("utf-8")
    # What nobody has read is not called right.
    assert "  ? " in printed
    assert re.search(r"^Of \d sentences a reader finds \d unread\.$", printed, re.MULTILINE)
    assert "A rocket on its launch pad" in page
    assert "<!--" not in page
    for link in re.findall(r'(?:src|href)="(library/[^"]+)"', page):
        assert (tmp_path / "out" / link).is_file()
    assert "densevidcap train drawn/manifest.jsonl" in page
    if CHROMIUM is not None and AXE is not None:
        look_at(tmp_path / "out" / "index.html", AXE)


def look_at(path: Path, axe: str) -> None:
    """In a browser it has no barriers, and on a phone it does not scroll sideways."""
    with run_browser() as browser:
        for width, scheme in ((1200, "light"), (1200, "dark"), (360, "dark")):
            size: Any = {"width": width, "height": 800}
            page = browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
            page.goto(path.as_uri())
            assert list_barriers(page, axe) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.close()


def test_the_extras_of_the_next_steps_exist() -> None:
    extras = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    named = re.findall(r"'\.\[([\w,]+)\]'", (SCRIPTS / "next-steps.sh").read_text("utf-8"))
    assert named
    assert {extra for each in named for extra in each.split(",")} <= set(extras)


def test_the_demo_asks_what_its_page_shows() -> None:
    asked = runpy.run_path(str(SCRIPTS / "demo_page.py"))["QUESTIONS"]
    script = (SCRIPTS / "demo.sh").read_text("utf-8")
    quoted = " ".join(f'"{each}"' for each in asked)
    assert f"for question in {quoted}; do" in script
