"""From an experiment's file to its results."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from densevidcap.errors import CorpusError
from densevidcap.progress import Progress
from densevidcap.repro.definition import Experiment, Kind
from densevidcap.repro.dense import compare_dense
from densevidcap.repro.diversity import compare_diversity
from densevidcap.repro.grounding import compare_grounding
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
"""Those that are about captioners and their baselines."""


def find_experiment(name: str, paths: Paths) -> Experiment:
    """The experiment of that name, if what it needs is given."""
    path = paths.definitions / f"{name}.toml"
    if not path.is_file():
        raise CorpusError(f"{path}: no such experiment; name another, or its folder")
    experiment = Experiment.read(path)
    if experiment.about.kind == "grounding" and paths.boxes is None:
        raise CorpusError(
            f"{name}: needs boxes of things in the clips' frames; give them with --boxes FILE"
            " (docs/evaluation.md)"
        )
    return experiment


def run_experiment(name: str, paths: Paths, command: str, progress: Progress) -> Result:
    """Train what is not trained yet, measure all, and write the results into the folder of runs."""
    experiment = find_experiment(name, paths)
    about = experiment.about
    if about.kind == "grounding":
        # Looks at frames with boxes alone, and trains nothing.
        outcome, clips = compare_grounding(paths, experiment, progress)
        trained = 0
    else:
        runner = Runner(paths, about.split, progress)
        outcome = KINDS[about.kind](runner, experiment)
        clips, trained = len(runner.clips), len(runner.trained)
    result = Result(
        name,
        about.title,
        command,
        date.today().isoformat(),
        clips,
        trained,
        about.notes,
        outcome,
    )
    result.save(paths.out)
    return result
