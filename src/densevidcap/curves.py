"""How a training run went, to look at: a picture of its history, and TensorBoard events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from densevidcap.errors import MissingExtraError
from densevidcap.files import replacing, writing
from densevidcap.training import Progress, Silence


def draw_curves(history: Sequence[Mapping[str, Any]], path: Path) -> None:
    """A PNG with a small plot for the loss and each figure, by epoch."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "train", "drawing a loss curve") from None

    names = [name for name in history[-1] if name not in ("epoch", "step")]
    epochs = [entry["epoch"] for entry in history]
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(4 * columns, 2.6 * rows), layout="constrained")
    for number, name in enumerate(names, start=1):
        axes = figure.add_subplot(rows, columns, number)
        axes.plot(epochs, [entry[name] for entry in history], marker=".", color="#9e2477")
        axes.set_title(name.replace("_", " "), loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.2)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)


class _Events:
    """Writes each step's loss and each epoch's figures as TensorBoard events."""

    def __init__(self, writer: Any, folder: Path) -> None:
        self._writer, self._folder = writer, folder

    def step(self, done: int, total: int, loss: float) -> None:  # noqa: ARG002
        with writing(self._folder):
            self._writer.add_scalar("loss", loss, done)

    def epoch(self, epoch: int, figures: dict[str, float]) -> None:
        with writing(self._folder):
            for name, value in figures.items():
                self._writer.add_scalar(f"epoch/{name}", value, epoch)
            self._writer.flush()


def open_events(folder: Path) -> Progress:
    """A watcher that writes TensorBoard events into the folder, if TensorBoard is installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return Silence()
    return _Events(SummaryWriter(str(folder)), folder)
