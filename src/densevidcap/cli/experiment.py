"""`densevidcap experiment`: the paper's tables and figures, grounding, and the page of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from densevidcap.cli.clips import OVERWRITE, keeping, parse_settings
from densevidcap.cli.printing import echo
from densevidcap.cli.training_view import GOING_ON, open_terminal
from densevidcap.outputs import Inputs, check_outputs

if TYPE_CHECKING:
    from densevidcap.repro.runner import Paths

ALL = "all"
"""Instead of names: every experiment that what is given suffices for."""
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
@click.option("--claims", is_flag=True, help="Print what became of each of the paper's claims.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    callback=parse_settings,
    help="A setting of all baselines' configs, as in captioner.hidden=512; repeat for more.",
)
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
    claims: bool,
    settings: dict[str, Any],
    overwrite: bool,
) -> None:
    """Run experiments such as table1 or grounding, each defined by a TOML file; or `all`.

    Baselines that --out holds already are not trained again, and one that was cut off goes on.
    Each writes its results.json there, over an earlier one only with --overwrite; `all` keeps
    those that the same command left of the same files. Without names, --report and --claims show
    what is there.
    """
    from densevidcap.errors import CorpusError
    from densevidcap.model_folder import BUNDLED
    from densevidcap.repro.claims import list_claims
    from densevidcap.repro.definition import DEFINITIONS, read_claims
    from densevidcap.repro.report import (
        PAGE,
        choose_current,
        load_results,
        write_report,
        write_section,
    )
    from densevidcap.repro.results import RESULTS
    from densevidcap.repro.run import (
        find_earlier,
        find_experiment,
        list_runnable,
        run_experiment,
    )
    from densevidcap.repro.runner import Paths

    if not (names or report or claims):
        raise click.UsageError(
            "Missing argument 'NAMES...': name experiments, or give --report or --claims."
        )
    folder = definitions or DEFINITIONS
    if not folder.is_dir():
        raise CorpusError(f"{folder}: no such folder; name one of experiments and claims")
    if names:
        if data is None:
            raise click.UsageError("Missing option '--data': experiments need clips.")
        paths = Paths(
            folder,
            data,
            captions or data,
            model or BUNDLED,
            cache or out / "cache",
            out,
            boxes,
            settings,
        )
        if names == (ALL,):
            with open_terminal() as terminal:
                names = tuple(list_runnable(paths, terminal))
            for name in () if overwrite else names:
                if earlier := find_earlier(name, paths, _quote(name, paths, captions, model)):
                    echo(f"{name}: run {earlier.run} is there; --overwrite measures it anew")
                    names = tuple(each for each in names if each != name)
    planned = [out / name / RESULTS for name in names]
    pages = [] if report is None else [report / PAGE]
    inputs = Inputs(files=[data, captions, model, boxes, definitions])
    check_outputs([*planned, *pages], inputs, overwrite)
    if names:
        for name in names:
            find_experiment(name, paths)  # A fault in the last is told before the first runs.
        for name in names:
            with open_terminal() as terminal, keeping(lambda: GOING_ON):
                result = run_experiment(name, paths, _quote(name, paths, captions, model), terminal)
            echo("\n".join(write_section(result)))
    if report is not None:
        echo(f"wrote {write_report(out, report, folder, overwrite)}")
    if claims:
        current = choose_current(load_results(out), folder)
        echo("\n".join(list_claims(read_claims(folder), current)))


def _quote(name: str, paths: Paths, captions: Path | None, model: Path | None) -> str:
    """The command as it goes into the report, without anybody's folders."""
    given = {"data": paths.data, "captions": captions, "model": model}
    given |= {"boxes": paths.boxes, "out": paths.out}
    options = [f"--{option} {path.name}" for option, path in given.items() if path]
    options += [f"--set {key}={json.dumps(value)}" for key, value in paths.settings.items()]
    return f"densevidcap experiment {name} {' '.join(options)}"
