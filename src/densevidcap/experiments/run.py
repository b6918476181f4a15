"""From an experiment's file to its results."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

from densevidcap.errors import CorpusError
from densevidcap.experiments.bench import Bench, Places, Watcher
from densevidcap.experiments.definition import Experiment, Kind
from densevidcap.experiments.dense import compare_dense
from densevidcap.experiments.diversity import compare_diversity
from densevidcap.experiments.loss import compare_losses
from densevidcap.experiments.results import Outcome, Result
from densevidcap.experiments.single import compare_single

KINDS: dict[Kind, Callable[[Bench, Experiment], Outcome]] = {
    "single": compare_single,
    "dense": compare_dense,
    "diversity": compare_diversity,
    "loss": compare_losses,
}


def run_experiment(name: str, places: Places, command: str, watcher: Watcher) -> Result:
    """Train what is not trained yet, measure all, and write the results into the folder of runs."""
    experiment = Experiment.read(_find(places.definitions, name))
    about = experiment.about
    bench = Bench(places, about.split, watcher)
    outcome = KINDS[about.kind](bench, experiment)
    result = Result(
        name,
        about.title,
        command,
        date.today().isoformat(),
        len(bench.clips),
        len(bench.trained),
        about.notes,
        outcome,
    )
    result.save(places.out)
    return result


def _find(folder: Path, name: str) -> Path:
    path = folder / f"{name}.toml"
    if not path.is_file():
        raise CorpusError(f"{path}: no such experiment; name another, or its folder")
    return path
