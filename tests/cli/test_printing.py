"""Text of files on a terminal: shown, never obeyed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text
from tests.data.made_clips import write_gif, write_video

import densevidcap.cli
from densevidcap.cli.clips import show_progress
from densevidcap.cli.console import Console
from densevidcap.cli.printing import echo

TITLE, CLEAR, TURN = "\x1b]0;owned\x07", "\x9b2J", "\u202e"
HOSTILE = f"a{TITLE}b{CLEAR}c{TURN}d[bold]e[/]"
SHOWN = "a\ufffd]0;owned\ufffdb\ufffd2Jc\ufffdd[bold]e[/]"


def test_lines_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    echo(f"{HOSTILE}\nnext")
    assert capsys.readouterr().out == f"{SHOWN}\nnext\n"


def test_tables_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table()
    table.add_column(HOSTILE, no_wrap=True)
    table.add_row(HOSTILE)
    table.add_row(Text(HOSTILE, "bold"))
    Console().print(table)
    shown = capsys.readouterr().out
    assert shown.count("a\ufffd]0;owned") == shown.count("d[bold]e") == 3
    assert not set("\x1b\x07\x9b\u202e") & set(shown)


def test_progress_takes_names_as_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with show_progress() as progress:
        progress.add_task(HOSTILE)
        progress.refresh()
    shown = capsys.readouterr().err
    assert "[bold]" in re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert not any(sequence in shown for sequence in (TITLE, CLEAR, TURN))


@pytest.mark.parametrize("is_clip", [True, False])
def test_names_of_clips_tell_a_terminal_nothing(tmp_path: Path, is_clip: bool) -> None:
    clip = tmp_path / f"{HOSTILE.replace('/', '')}.mp4"
    if is_clip:
        write_video(tmp_path / "clip.mp4", 2).rename(clip)
    else:
        clip.write_text("no clip")
    run = subprocess.run(
        [sys.executable, "-m", "densevidcap", "frames", str(clip)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    printed = run.stdout + run.stderr
    assert run.returncode == (0 if is_clip else 1)
    assert "\ufffd" in printed
    assert not set("\x1b\x07\x9b\u202e") & set(printed)


def test_what_a_terminal_cannot_show_is_replaced(tmp_path: Path) -> None:
    clip = write_gif(tmp_path / "犬.gif")
    run = subprocess.run(
        [sys.executable, "-m", "densevidcap", "frames", str(clip)],
        capture_output=True,
        encoding="cp1252",
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert "?.gif" in run.stdout


def test_there_is_one_way_to_the_terminal() -> None:
    for path in Path(densevidcap.cli.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name != "printing.py":
            assert "click.echo(" not in text, path
            assert "click.secho(" not in text, path
        assert not re.search(r"rich\.console import .*\bConsole\b", text), path
