"""What an experiment found, as a file that the report is written from."""

from __future__ import annotations

from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, cast, get_args, get_origin, get_type_hints

from densevidcap.data.text_files import read_json
from densevidcap.errors import CorpusError
from densevidcap.model_folder import hash_file, write_json
from densevidcap.repro.definition import find_definition

RESULTS = "results.json"

Figures = tuple[float, ...]
"""One for each column of a table, or none at all."""


@dataclass(frozen=True)
class Line:
    name: str
    ours: Figures = ()
    paper: Figures = ()


@dataclass(frozen=True)
class Table:
    title: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    digits: int = 1
    """After the point."""


@dataclass(frozen=True)
class Measured:
    """By how much one line is above another, or its share in percent, with the 95% interval."""

    column: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Finding:
    """What an experiment has to say of a claim, column by column."""

    claim: str
    measured: tuple[Measured, ...] = ()
    asked: str = ""
    """What the claim asked when this was measured."""


@dataclass(frozen=True)
class Curve:
    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Picture:
    name: str
    """Of the file, without its ending."""
    title: str
    x: str
    y: str
    """What the axes show."""
    curves: tuple[Curve, ...]
    bars: tuple[str, ...] = ()
    """Names of the places on the x axis, if bars are to be drawn there."""


@dataclass(frozen=True)
class Outcome:
    """All figures of an experiment."""

    tables: tuple[Table, ...]
    findings: tuple[Finding, ...] = ()
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Result:
    """An outcome, and what it must be quoted with."""

    experiment: str
    title: str
    command: str
    date: str
    """YYYY-MM-DD"""
    clips: int
    """On which it was measured."""
    trained: int
    """Clips to learn from, counted with those that cannot be read."""
    notes: tuple[str, ...]
    outcome: Outcome
    run: str = ""
    """Of all that `origin` says; empty where that was not recorded."""
    origin: tuple[tuple[str, str], ...] = ()
    """What it was made from: commit, settings, weights, clips and predictions, most by SHA-256."""

    def is_current(self, definitions: Path) -> bool:
        """Whether the experiment is still defined as it was, as far as that is known."""
        path, before = find_definition(definitions, self.experiment), dict(self.origin)
        return not path.is_file() or before.get("definition") in (None, hash_file(path))

    def save(self, folder: Path) -> None:
        write_json(folder / self.experiment / RESULTS, asdict(self))

    @classmethod
    def load(cls, path: Path) -> Result:
        content = read_json(path)
        try:
            result: Result = _restore(cls, content)
        except (KeyError, TypeError, AttributeError) as error:
            raise CorpusError(
                f"{path}: not the results of an experiment ({error}); run it again"
            ) from None
        return result


def _restore(kind: Any, content: Any) -> Any:
    """A value of that type from JSON: dataclasses were objects, tuples lists."""
    if is_dataclass(kind):
        types = get_type_hints(kind)
        values = {name: _restore(types[name], value) for name, value in content.items()}
        return cast(Any, kind)(**values)
    if isinstance(content, list):
        item = get_args(kind)[0] if get_origin(kind) is tuple else None
        return tuple(_restore(item, each) for each in content)
    return content
