"""From an experiment's file to its results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import chain

from densevidcap.data.manifest import read_manifest
from densevidcap.errors import CorpusError, ModelError
from densevidcap.metrics.dense import TOPS
from densevidcap.model_folder import WEIGHTS, hash_file, read_model_config
from densevidcap.pipeline.captioner import RANKING
from densevidcap.progress import Progress
from densevidcap.repro.candidates import RANKED
from densevidcap.repro.definition import (
    CLAIMS,
    Claim,
    Experiment,
    Kind,
    find_definition,
    list_experiments,
    read_claims,
)
from densevidcap.repro.dense import compare_dense, name_top
from densevidcap.repro.diversity import ANY_OTHER, D_DIV, FIVE, NULL, OTHERS, compare_diversity
from densevidcap.repro.grounding import compare_grounding
from densevidcap.repro.origin import find_commit
from densevidcap.repro.ranking import TOP, compare_rankings
from densevidcap.repro.results import RESULTS, Outcome, Result
from densevidcap.repro.runner import Paths, Runner
from densevidcap.repro.single import COLUMNS, compare_single
from densevidcap.repro.words import (
    DETECTED,
    DETECTION,
    LEARNED,
    LOSSES,
    PLACES,
    compare_losses,
    list_detectors,
    name_place,
)
from densevidcap.train.stage import HELD_OUT

KINDS: dict[Kind, Callable[[Runner, Experiment, Sequence[Claim]], Outcome]] = {
    "single": compare_single,
    "dense": compare_dense,
    "ranking": compare_rankings,
    "diversity": compare_diversity,
    "loss": compare_losses,
}
"""Those that are about captioners and their baselines."""


def find_experiment(name: str, paths: Paths) -> Experiment:
    """The experiment of that name, if what it needs is given."""
    path = find_definition(paths.definitions, name)
    if not path.is_file():
        raise CorpusError(f"{path}: no such experiment; name another, or its folder")
    experiment = Experiment.read(path)
    for claim in read_claims(path.parent):
        if claim.experiment == name:
            _check_claim(experiment, claim)
    if experiment.about.kind == "grounding" and paths.boxes is None:
        raise CorpusError(
            f"{name}: needs boxes of things in the clips' frames; give them with --boxes FILE"
            " (docs/evaluation.md)"
        )
    return experiment


TESTED: Mapping[Kind, Mapping[str, Sequence[str]]] = {
    "single": {"": COLUMNS, DETECTION: DETECTED},
    "dense": {name_top(top): COLUMNS for top in TOPS},
    "ranking": {name_top(TOP): COLUMNS},
    "diversity": {"": (D_DIV, *OTHERS)},
    "loss": {LOSSES: (LEARNED,)},
    "grounding": {},
}
"""The tables and columns that have intervals, so that claims can be of them."""


def _list_lines(experiment: Experiment, table: str) -> set[str]:
    """The lines of a table that have intervals."""
    rows, kind = experiment.rows, experiment.about.kind
    if kind == "single" and table == DETECTION:
        return {name_place(row, place) for row in list_detectors(rows) for place in PLACES}
    if kind == "single":
        return {row.name for row in rows if row.system not in ("", "human")}
    added = {FIVE, ANY_OTHER, NULL} if kind == "diversity" else set()
    return added | {row.name for row in rows}


def _check_claim(experiment: Experiment, claim: Claim) -> None:
    fault, tables = f"{CLAIMS}: claim '{claim.name}'", TESTED[experiment.about.kind]
    if claim.table not in tables:
        known = ", ".join(f"'{table}'" for table in tables) or "none"
        raise ModelError(
            f"{fault}: no claim can be of table '{claim.table}' of {experiment.name};"
            f" its tables with intervals: {known}"
        )
    lines = _list_lines(experiment, claim.table)
    for line in chain.from_iterable(claim.pairs):
        if line not in lines:
            raise ModelError(
                f"{fault}: no row with an interval is called '{line}'; name one of "
                + ", ".join(f"'{name}'" for name in sorted(lines))
            )
    columns = tables[claim.table]
    if unknown := [column for column in claim.columns if column not in columns]:
        raise ModelError(f"{fault}: no column is called '{unknown[0]}'; name {', '.join(columns)}")


def list_runnable(paths: Paths, progress: Progress) -> list[str]:
    """All experiments that what is given suffices for; the others are named."""
    splits = {record.split for record in read_manifest(paths.data) if record.captions}
    names = []
    for name in list_experiments(paths.definitions):
        about = Experiment.read(paths.definitions / f"{name}.toml").about
        measured = HELD_OUT if about.split in HELD_OUT else (about.split,)
        if about.kind == "grounding" and paths.boxes is None:
            progress.say(f"left out {name}: it needs --boxes")
        elif about.kind != "grounding" and not splits & {*measured}:
            progress.say(f"left out {name}: no clip of split '{about.split}' has captions")
        else:
            names.append(name)
    if not names:
        raise CorpusError(
            f"{paths.definitions}: no experiment in it that what is given suffices for; "
            "name another folder, or give what is missing"
        )
    return names


def find_earlier(name: str, paths: Paths, command: str) -> Result | None:
    """What that command found already, of the same experiment and of the same files."""
    path = paths.out / name / RESULTS
    if not path.is_file():
        return None
    result = Result.load(path)
    same = result.command == command and result.is_current(paths.definitions)
    return result if same and _is_made_of(dict(result.origin), paths) else None


def _is_made_of(origin: Mapping[str, str], paths: Paths) -> bool:
    """Whether what is given today, under whatever names, is what a result was made from."""
    files = {"manifest": paths.data}
    if paths.captions != paths.data:
        files["captions"] = paths.captions
    if "boxes" in origin and paths.boxes is not None:
        files["boxes"] = paths.boxes
    if RANKED in origin:
        files[RANKED] = paths.model / RANKING
    for name in origin:
        place = name.removeprefix("weights of ")
        if place != name and place.startswith("model/"):
            files[name] = paths.model / place.removeprefix("model/") / WEIGHTS
        elif place != name and (trained := paths.out / place / WEIGHTS).is_file():
            files[name] = trained
    return all(
        path.is_file() and origin.get(name) == hash_file(path) for name, path in files.items()
    )


def run_experiment(name: str, paths: Paths, command: str, progress: Progress) -> Result:
    """Train what is not trained yet, measure all, and write the results into the folder of runs."""
    experiment = find_experiment(name, paths)
    about = experiment.about
    # Configs of baselines stand beside the experiment.
    definition = find_definition(paths.definitions, name)
    paths = replace(paths, definitions=definition.parent)
    claims = [claim for claim in read_claims(paths.definitions) if claim.experiment == name]
    origin = {"commit": find_commit(), "definition": hash_file(definition)}
    notes = about.notes
    if about.kind == "grounding":
        # Looks at frames with boxes alone, and trains nothing.
        outcome, clips = compare_grounding(paths, experiment, progress)
        trained = 0
        origin["weights of model/words"] = hash_file(paths.model / "words" / WEIGHTS)
        # How boxes are fitted to words is a setting.
        config = json.dumps(read_model_config(paths.model / "words").to_dict(), sort_keys=True)
        origin["settings of model/words"] = hashlib.sha256(config.encode()).hexdigest()
        if paths.boxes is not None:
            origin["boxes"] = hash_file(paths.boxes)
    else:
        runner = Runner(paths, about, progress)
        outcome = KINDS[about.kind](runner, experiment, claims)
        clips, trained = len(runner.clips), len(runner.trained)
        measured = json.dumps([record.id for record in runner.clips])
        origin["clips measured"] = hashlib.sha256(measured.encode()).hexdigest()
        origin |= runner.origin
        notes += tuple(f"Not run: {row}: {reason}" for row, reason in runner.lacks.items())
    origin["manifest"] = hash_file(paths.data)
    if paths.captions != paths.data:
        origin["captions"] = hash_file(paths.captions)
    listed = tuple(sorted(origin.items()))
    result = Result(
        name,
        about.title,
        command,
        date.today().isoformat(),
        clips,
        trained,
        notes,
        outcome,
        hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:12],
        listed,
    )
    result.save(paths.out)
    return result
