"""How long work looks: bars on a terminal, and lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from densevidcap.progress import describe_metrics

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


GOING_ON = "what was learned so far is kept, and the same command goes on from there"


@contextmanager
def open_terminal() -> Iterator[Terminal]:
    """Bars on a terminal, none elsewhere."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from densevidcap.cli.console import Console

    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        disable=not console.is_terminal,
    ) as bars:
        yield Terminal(bars)


class Terminal:
    """A bar for what is being counted and for training; lines for what is done."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._counting: TaskID | None = None
        self._training: TaskID | None = None
        self._title = ""

    def stage(self, name: str, number: int, of: int) -> None:
        self._title = f"{number} of {of}, {name}: "

    def end(self, result: str) -> None:
        self._close()
        self.say(f"{self._title}{result}")
        self._title = ""

    def count(self, doing: str, total: int | None = None) -> Callable[[], None]:
        self._close()
        if self._bars.disable:
            self.say(f"{self._title}{doing}")
        bar = self._counting = self._open(doing, total)
        return lambda: self._bars.advance(bar)

    def step(self, done: int, total: int, loss: float) -> None:
        if self._training is None:
            self._close()
            self._training = self._open("training", total)
        self._bars.update(self._training, completed=done, note=f"loss {loss:.3f}")

    def epoch(self, epoch: int, metrics: dict[str, float]) -> None:
        """Of a stage among others, the bars of a terminal tell enough."""
        if self._bars.disable or not self._title:
            self.say(f"{self._title}epoch {epoch}: {describe_metrics(metrics)}")

    def say(self, line: str) -> None:
        """Above the bars, as it is: names of files may look like Rich's markup."""
        self._bars.console.print(line, soft_wrap=True, highlight=False, markup=False)

    def _open(self, doing: str, total: int | None) -> TaskID:
        return self._bars.add_task(f"{self._title}{doing}", total=total, note="")

    def _close(self) -> None:
        for bar in (self._counting, self._training):
            if bar is not None:
                self._bars.remove_task(bar)
        self._counting = self._training = None
