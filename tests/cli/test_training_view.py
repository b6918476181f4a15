"""How long work looks on a terminal and elsewhere."""

from __future__ import annotations

import sys
from io import StringIO

import pytest
from rich.console import Console
from rich.progress import Progress as Bars
from rich.progress import TextColumn

from densevidcap.cli.training_view import Terminal
from densevidcap.progress import Progress, Silent, write_events


def open_bars(is_terminal: bool) -> tuple[Bars, StringIO]:
    written = StringIO()
    console = Console(file=written, force_terminal=is_terminal, width=200)
    columns = (TextColumn("{task.description}"), TextColumn("{task.fields[note]}"))
    return Bars(*columns, console=console, disable=not is_terminal, auto_refresh=False), written


def work(progress: Progress, stage: bool) -> None:
    if stage:
        progress.stage("words", 2, 5)
    advance = progress.count("reading clips", 2)
    advance()
    advance()
    progress.say("left out [/broken]: no such file")
    progress.step(1, 1, 0.5)
    progress.epoch(1, {"loss": 0.5, "auc": 70.0})
    if stage:
        progress.end("all is well")


@pytest.mark.parametrize("stage", [False, True])
def test_elsewhere_lines_tell_all(stage: bool) -> None:
    bars, written = open_bars(is_terminal=False)
    work(Terminal(bars), stage)
    title = "2 of 5, words: " if stage else ""
    expected = [
        f"{title}reading clips",
        "left out [/broken]: no such file",
        f"{title}epoch 1: loss 0.5, auc 70",
    ]
    assert written.getvalue().splitlines() == expected + [f"{title}all is well"] * stage


def test_on_a_terminal_a_stage_shows_one_bar_at_a_time_and_its_result() -> None:
    bars, written = open_bars(is_terminal=True)
    terminal = Terminal(bars)
    terminal.stage("words", 2, 5)
    terminal.count("reading clips", 2)()
    assert [task.description for task in bars.tasks] == ["2 of 5, words: reading clips"]
    terminal.step(1, 4, 0.5)
    (task,) = bars.tasks
    assert (task.description, task.completed, task.total) == ("2 of 5, words: training", 1, 4)
    assert task.fields["note"] == "loss 0.500"
    terminal.epoch(1, {"loss": 0.5})
    terminal.end("all is well")
    assert not bars.tasks
    assert "epoch" not in written.getvalue()
    assert "2 of 5, words: all is well" in written.getvalue()
    terminal.epoch(1, {"loss": 0.5})  # of a run that is no stage among others
    assert "epoch 1: loss 0.5" in written.getvalue()


def test_without_tensorboard_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    silent = Silent()
    assert write_events(silent, "nowhere") is silent
