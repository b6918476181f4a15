"""`densevidcap experiment`: the paper's tables and figures, and the page that shows them."""

from __future__ import annotations

from pathlib import Path

import click

from densevidcap.cli.clips import OVERWRITE, keeping
from densevidcap.cli.printing import echo
from densevidcap.cli.training_view import GOING_ON, open_terminal
from densevidcap.outputs import Inputs, check_outputs

_PATH = click.Path(path_type=Path)


@click.command("experiment")
@click.argument("names", nargs=-1)
@click.option("--data", type=_PATH, help="The manifest of clips with captions.")
@click.option(
    "--captions", type=_PATH, help="A manifest of more captions, for diversity.  [default: --data]"
)
@click.option("--model", type=_PATH, help="The model to measure.  [default: the bundled]")
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
    out: Path,
    cache: Path | None,
    definitions: Path | None,
    report: Path | None,
    overwrite: bool,
) -> None:
    """Run experiments such as table1, each defined by a TOML file.

    Baselines that --out holds already are not trained again, and one that was cut off goes on.
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
        paths = Paths(
            definitions or DEFINITIONS,
            data,
            captions or data,
            model or BUNDLED,
            cache or out / "cache",
            out,
        )
        for name in names:
            with open_terminal() as terminal, keeping(lambda: GOING_ON):
                result = run_experiment(
                    name, paths, _quote(name, data, captions, model, out), terminal
                )
            echo("\n".join(write_section(result)))
    if report is not None:
        echo(f"wrote {write_report(out, report, overwrite)}")


def _quote(name: str, data: Path, captions: Path | None, model: Path | None, out: Path) -> str:
    """The command as it goes into the report, without anybody's folders."""
    given = {"data": data, "captions": captions, "model": model, "out": out}
    options = " ".join(f"--{option} {path.name}" for option, path in given.items() if path)
    return f"densevidcap experiment {name} {options}"
