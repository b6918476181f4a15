"""How training looks: bars on a terminal, and lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from densevidcap.train.loop import Progress as Watcher


GOING_ON = "what was learned so far is kept, and the same command goes on from there"


def open_progress() -> Progress:
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
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        disable=not console.is_terminal,
    )


class RunView:
    """One training run: what it reads and its steps as bars, its epochs as lines."""

    def __init__(self, progress: Progress, other: Watcher | None = None) -> None:
        """Steps and epochs are passed on to `other`."""
        self._progress, self._other = progress, other
        self._bars: list[TaskID] = []
        self._training: TaskID | None = None
        self._title = ""

    def say(self, line: str) -> None:
        """Above the bars, as it is: names of files may look like Rich's markup."""
        self._progress.console.print(line, soft_wrap=True, highlight=False, markup=False)

    def count(self, doing: str, total: int) -> Callable[[], None]:
        bar = self._open_bar(doing, total)
        return lambda: self._progress.advance(bar)

    def step(self, done: int, total: int, loss: float) -> None:
        if self._training is None:
            self._training = self._open_bar("training", total)
        self._progress.update(self._training, completed=done, note=f"loss {loss:.3f}")
        if self._other is not None:
            self._other.step(done, total, loss)

    def epoch(self, epoch: int, figures: dict[str, float]) -> None:
        self.say(f"epoch {epoch}: {describe_figures(figures)}")
        if self._other is not None:
            self._other.epoch(epoch, figures)

    def _open_bar(self, doing: str, total: int) -> TaskID:
        bar = self._progress.add_task(f"{self._title}{doing}", total=total, note="")
        self._bars.append(bar)
        return bar


class StagesView(RunView):
    """All stages of a model: the bars of the one at work, a line for each that is done."""

    def begin(self, stage: str, number: int, of: int) -> None:
        self._title = f"{number} of {of}, {stage}: "

    def end(self, result: str) -> None:
        for bar in self._bars:
            self._progress.remove_task(bar)
        self._bars, self._training = [], None
        self.say(f"{self._title}{result}")

    def epoch(self, epoch: int, figures: dict[str, float]) -> None:
        """On a terminal the bars tell enough."""
        if not self._progress.console.is_terminal:
            self.say(f"{self._title}epoch {epoch}, {describe_figures(figures)}")


def describe_figures(figures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in figures.items())
