"""`densevidcap experiment`: the paper's tables and figures, and the page that shows them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from densevidcap.cli.clips import OVERWRITE, keeping
from densevidcap.cli.printing import echo
from densevidcap.cli.training_view import GOING_ON
from densevidcap.outputs import Inputs, check_outputs

if TYPE_CHECKING:
    from rich.progress import Progress

_PATH = click.Path(path_type=Path)


@click.command("experiment")
@click.argument("names", nargs=-1)
@click.option("--data", type=_PATH, help="The manifest of clips with captions.")
@click.option(
    "--captions", type=_PATH, help="A manifest of more captions, for diversity.  [default: --data]"
)
@click.option("--model", type=_PATH, help="The model to measure.  [default: the bundled]")
@click.option("--out", type=_PATH, required=True, help="Folder of runs: rivals and results.")
@click.option("--cache", type=_PATH, help="Folder for features.  [default: cache in --out]")
@click.option(
    "--definitions", type=_PATH, help="Folder of tables of your own.  [default: the paper's]"
)
@click.option("--report", type=_PATH, help="Write results.md and its pictures into this folder.")
@OVERWRITE
def command(
    names: tuple[str, ...],
    data: Path | None,
    captions: Path | None,
    model: Path | None,
    out: Path,
    cache: Path | None,
    definitions: Path | None,
    report: Path | None,
    overwrite: bool,
) -> None:
    """Run experiments such as table1, each defined by a TOML file.

    Rivals that --out holds already are not trained again, and one that was cut off goes on.
    Each writes its results.json there, over an earlier one only with --overwrite. Without names,
    --report shows what is there.
    """
    from densevidcap.model_folder import BUNDLED
    from densevidcap.repro.definition import DEFINITIONS
    from densevidcap.repro.report import PAGE, write_report, write_section
    from densevidcap.repro.results import RESULTS
    from densevidcap.repro.run import run_experiment
    from densevidcap.repro.runner import Paths

    planned = [out / name / RESULTS for name in names]
    pages = [] if report is None else [report / PAGE]
    inputs = Inputs(files=[data, captions, model, definitions])
    check_outputs([*planned, *pages], inputs, overwrite)
    if names:
        if data is None:
            raise click.UsageError("Missing option '--data': experiments need clips.")
        places = Paths(
            definitions or DEFINITIONS,
            data,
            captions or data,
            model or BUNDLED,
            cache or out / "cache",
            out,
        )
        for name in names:
            with _open_progress() as progress, keeping(lambda: GOING_ON):
                result = run_experiment(
                    name, places, _quote(name, data, captions, model, out), _Watch(progress)
                )
            echo("\n".join(write_section(result)))
    if report is not None:
        echo(f"wrote {write_report(out, report, overwrite)}")


def _quote(name: str, data: Path, captions: Path | None, model: Path | None, out: Path) -> str:
    """The command as it goes into the report, without anybody's folders."""
    given = {"data": data, "captions": captions, "model": model, "out": out}
    options = " ".join(f"--{option} {path.name}" for option, path in given.items() if path)
    return f"densevidcap experiment {name} {options}"


def _open_progress() -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from densevidcap.cli.console import Console

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


class _Watch:
    """A bar for what is being done; lines where nobody can see bars."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bar = progress.add_task("")

    def start(self, what: str, total: int | None = None) -> None:
        self._progress.reset(self._bar, description=what, total=total)
        if self._progress.disable:
            echo(what, err=True)

    def advance(self) -> None:
        self._progress.advance(self._bar)

    def step(self, done: int, total: int, loss: float) -> None:  # noqa: ARG002
        self._progress.update(self._bar, completed=done, total=total)

    def epoch(self, epoch: int, figures: dict[str, float]) -> None:
        line = ", ".join(f"{name} {value:.4g}" for name, value in figures.items())
        self._progress.console.print(f"epoch {epoch}: {line}", markup=False, highlight=False)
