"""`densevidcap experiment`: the paper's tables and figures, grounding, and the page of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from densevidcap.cli.clips import OVERWRITE, keeping
from densevidcap.cli.printing import echo
from densevidcap.cli.training_view import GOING_ON, open_terminal
from densevidcap.outputs import Inputs, check_outputs

if TYPE_CHECKING:
    from densevidcap.repro.runner import Paths

_PATH = click.Path(path_type=Path)


@click.command("experiment")
@click.argument("names", nargs=-1)
@click.option("--data", type=_PATH, help="The manifest of clips with captions.")
@click.option(
    "--captions", type=_PATH, help="A manifest of more captions, for diversity.  [default: --data]"
)
@click.option("--model", type=_PATH, help="The model to measure.  [default: the bundled]")
@click.option(
    "--boxes", type=_PATH, help="Boxes of things in frames, or cases (.jsonl), for grounding."
)
@click.option("--out", type=_PATH, required=True, help="Folder of runs: baselines and results.")
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
    boxes: Path | None,
    out: Path,
    cache: Path | None,
    definitions: Path | None,
    report: Path | None,
    overwrite: bool,
) -> None:
    """Run experiments such as table1 or grounding, each defined by a TOML file.

    Baselines that --out holds already are not trained again, and one that was cut off goes on.
    Each writes its results.json there, over an earlier one only with --overwrite. Without names,
    --report shows what is there.
    """
    from densevidcap.model_folder import BUNDLED
    from densevidcap.repro.definition import DEFINITIONS
    from densevidcap.repro.report import PAGE, write_report, write_section
    from densevidcap.repro.results import RESULTS
    from densevidcap.repro.run import find_experiment, run_experiment
    from densevidcap.repro.runner import Paths

    planned = [out / name / RESULTS for name in names]
    pages = [] if report is None else [report / PAGE]
    inputs = Inputs(files=[data, captions, model, boxes, definitions])
    check_outputs([*planned, *pages], inputs, overwrite)
    if names:
        if data is None:
            raise click.UsageError("Missing option '--data': experiments need clips.")
        paths = Paths(
            definitions or DEFINITIONS,
            data,
            captions or data,
            model or BUNDLED,
            cache or out / "cache",
            out,
            boxes,
        )
        for name in names:
            find_experiment(name, paths)  # A fault in the last is told before the first runs.
        for name in names:
            with open_terminal() as terminal, keeping(lambda: GOING_ON):
                result = run_experiment(name, paths, _quote(name, paths, captions, model), terminal)
            echo("\n".join(write_section(result)))
    if report is not None:
        echo(f"wrote {write_report(out, report, overwrite)}")


def _quote(name: str, paths: Paths, captions: Path | None, model: Path | None) -> str:
    """The command as it goes into the report, without anybody's folders."""
    given = {"data": paths.data, "captions": captions, "model": model}
    given |= {"boxes": paths.boxes, "out": paths.out}
    options = " ".join(f"--{option} {path.name}" for option, path in given.items() if path)
    return f"densevidcap experiment {name} {options}"
