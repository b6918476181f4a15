"""What every training run has in common: its folder, its card, its curves, its cost."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import torch

from densevidcap import __version__
from densevidcap.errors import MissingExtraError, ModelError
from densevidcap.files import hold, replacing, writing
from densevidcap.intake import parse_json
from densevidcap.model_folder import CARD, read_card, write_json
from densevidcap.train.loop import CHECKPOINT, Progress, Silence

HELD_OUT = ("validate", "val")
"""Splits whose clips are measured after each epoch."""

RUN = "training"
"""Folder inside the model's: checkpoint, history, curves."""
SETTINGS = "settings.json"
CLIPS = "clips.json"
"""The clips that a run began with."""


class Training(Protocol):
    out: Path
    """The model folder."""


S = TypeVar("S", bound=Training)
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class AboutOptions:
    """For the model's card: what only a person can know."""

    licence: str = "not stated"
    data: str = "not stated"
    """Where the clips and captions come from, and on what terms."""


def hold_run(out: Path) -> AbstractContextManager[None]:
    """Train in that folder alone: two runs that write one checkpoint give a wrong model."""
    refusal = f"{out}: another training works here; wait for its end, or give another folder"
    return hold(out / RUN, ModelError(refusal))


def alone(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method of a training that needs its folder `out` for itself."""

    @wraps(method)
    def held(training: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with hold_run(training.out):
            return method(training, *args, **kwargs)

    return held


def claim_folder(
    out: Path, data: Mapping[str, str], recipe: Mapping[str, Any], stages: Sequence[str] = ()
) -> None:
    """A run goes on only with the data and settings that it began with.

    It begins in no folder that holds a model already, or one of these stages of a model.
    """
    path = out / RUN / SETTINGS
    settings = {"data": dict(data), "recipe": dict(recipe)}
    for folder in (out, *(out / stage for stage in stages)):
        if (folder / CARD).exists() and not path.exists():
            raise ModelError(f"{folder}: holds a model, which is not replaced; give another folder")
    with hold_run(out):
        if not path.exists():
            write_json(path, settings)
        elif read_json_or_none(path) != json.loads(json.dumps(settings)):
            raise ModelError(
                f"{out}: holds a run with other data or settings; "
                "give another folder or remove this one"
            )


def find_latecomers(out: Path, readable: Sequence[str]) -> dict[str, str]:
    """Clips that can be read only now, after the run took its first steps without them."""
    path = out / RUN / CLIPS
    begun = read_json_or_none(path) if (out / RUN / CHECKPOINT).exists() else None
    if not begun:
        write_json(path, {"clips": list(readable)})
        return {}
    late = set(readable) - set(begun["clips"])
    reason = "this run began without it; to have it, train in another folder"
    return {clip: reason for clip in readable if clip in late}


def describe_run(
    about: AboutOptions,
    data: Mapping[str, str],
    recipe: Mapping[str, Any],
    history: Sequence[dict[str, Any]],
    *,
    trained: int,
    measured: int,
) -> dict[str, Any]:
    """What the card of every model says of how it was made."""
    return {
        "made_with": {"densevidcap": __version__, "torch": torch.__version__},
        "licence": about.licence,
        "data": {
            "about": about.data,
            "sha256": dict(data),
            "clips": trained,
            "held_out_clips": measured,
        },
        "recipe": dict(recipe),
        "history": list(history),
    }


def describe_start(folder: Path) -> dict[str, str]:
    """What a card says of the model that training started from."""
    licence = read_card(folder).get("licence", "not stated")
    return {"weights": folder.name, "licence": str(licence)}


def read_json_or_none(path: Path) -> Any:
    """The file's content; None if it is missing or damaged."""
    try:
        return parse_json(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None


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


@dataclass(frozen=True)
class Cost:
    seconds: float
    """Of the call that finished it; one that was stopped before is not counted."""
    peak_bytes: int
    """The most memory that the process had held by its end, earlier stages included."""


class Meter:
    """Runs from its making on."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def read(self) -> Cost:
        return Cost(time.monotonic() - self._started, measure_peak())


def measure_peak() -> int:
    """Bytes; 0 where the system does not tell (Windows)."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class Watcher(Progress, Protocol):
    """Sees the steps and epochs of every stage, and what comes before and after them."""

    def begin(self, stage: str, number: int, of: int) -> None: ...

    def end(self, result: str) -> None:
        """The stage that began last is done; one that was done before ends at once."""

    def count(self, doing: str, total: int) -> Callable[[], None]:
        """Something other than steps begins; the result is called after each of `total`."""

    def say(self, line: str) -> None: ...
