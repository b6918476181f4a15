"""The one way in which long work tells how it goes: to a terminal, to TensorBoard, or to nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from densevidcap.files import writing


class Progress(Protocol):
    """Somebody who wants to see how it goes."""

    def stage(self, name: str, number: int, of: int) -> None:
        """One of several stages begins."""

    def end(self, result: str) -> None:
        """The stage that began last is done; one that was done before ends at once."""

    def count(self, doing: str, total: int | None = None) -> Callable[[], None]:
        """Something begins; the result is called after each of `total`, if their number is known.

        What was counted before is over.
        """

    def step(self, done: int, total: int, loss: float) -> None:
        """A step of training is taken."""

    def epoch(self, epoch: int, metrics: dict[str, float]) -> None:
        """An epoch is over, with the loss and what was measured on held-out data."""

    def say(self, line: str) -> None: ...


class Silent:
    """Nobody looks."""

    def stage(self, name: str, number: int, of: int) -> None:
        pass

    def end(self, result: str) -> None:
        pass

    def count(self, doing: str, total: int | None = None) -> Callable[[], None]:  # noqa: ARG002
        return lambda: None

    def step(self, done: int, total: int, loss: float) -> None:
        pass

    def epoch(self, epoch: int, metrics: dict[str, float]) -> None:
        pass

    def say(self, line: str) -> None:
        pass


class Events:
    """Writes losses and metrics as TensorBoard events, and passes everything on to another."""

    def __init__(self, progress: Progress, folder: str) -> None:
        """Raises ImportError where TensorBoard is not installed."""
        from torch.utils.tensorboard import SummaryWriter

        self._progress, self._folder = progress, Path(folder)
        self._writer = SummaryWriter(folder)
        self.stage, self.end = progress.stage, progress.end
        self.count, self.say = progress.count, progress.say

    def step(self, done: int, total: int, loss: float) -> None:
        with writing(self._folder):
            self._writer.add_scalar("loss", loss, done)
        self._progress.step(done, total, loss)

    def epoch(self, epoch: int, metrics: dict[str, float]) -> None:
        with writing(self._folder):
            for name, value in metrics.items():
                self._writer.add_scalar(f"epoch/{name}", value, epoch)
            self._writer.flush()
        self._progress.epoch(epoch, metrics)


def write_events(progress: Progress, folder: str) -> Progress:
    """The same with TensorBoard events in the folder, if TensorBoard is installed."""
    try:
        return Events(progress, folder)
    except ImportError:
        return progress


def describe_metrics(metrics: Mapping[str, float]) -> str:
    """In one line."""
    return ", ".join(f"{name} {value:.4g}" for name, value in metrics.items())
