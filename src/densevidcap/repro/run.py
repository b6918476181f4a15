"""From an experiment's file to its results."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

from densevidcap.errors import CorpusError
from densevidcap.progress import Progress
from densevidcap.repro.definition import Experiment, Kind
from densevidcap.repro.dense import compare_dense
from densevidcap.repro.diversity import compare_diversity
from densevidcap.repro.results import Outcome, Result
from densevidcap.repro.runner import Paths, Runner
from densevidcap.repro.single import compare_single
from densevidcap.repro.words import compare_losses

KINDS: dict[Kind, Callable[[Runner, Experiment], Outcome]] = {
    "single": compare_single,
    "dense": compare_dense,
    "diversity": compare_diversity,
    "loss": compare_losses,
}


def run_experiment(name: str, paths: Paths, command: str, progress: Progress) -> Result:
    """Train what is not trained yet, measure all, and write the results into the folder of runs."""
    experiment = Experiment.read(_find(paths.definitions, name))
    about = experiment.about
    runner = Runner(paths, about.split, progress)
    outcome = KINDS[about.kind](runner, experiment)
    result = Result(
        name,
        about.title,
        command,
        date.today().isoformat(),
        len(runner.clips),
        len(runner.trained),
        about.notes,
        outcome,
    )
    result.save(paths.out)
    return result


def _find(folder: Path, name: str) -> Path:
    path = folder / f"{name}.toml"
    if not path.is_file():
        raise CorpusError(f"{path}: no such experiment; name another, or its folder")
    return path
