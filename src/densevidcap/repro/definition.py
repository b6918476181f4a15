"""What an experiment compares: a file of definitions/, with the paper's figures in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from densevidcap.config import build_options, read_toml
from densevidcap.errors import ModelError

Kind = Literal["single", "dense", "diversity", "loss"]
Known = Literal["nothing", "predicted", "given"]
"""What a captioner is told of a clip's category."""

DEFINITIONS = Path(__file__).parent / "definitions"
"""Those of the paper's tables and figures."""

Options = TypeVar("Options")


@dataclass(frozen=True)
class About:
    title: str
    kind: Kind
    """One sentence a clip, several, how these differ, or how fast words are learned."""
    split: str = "validate"
    """Of the clips that are measured."""
    baseline: str = ""
    """Of dense captions: the row that others are given in percent of."""
    notes: tuple[str, ...] = ()
    """For the report: what a reader must know to compare us with the paper."""


@dataclass(frozen=True)
class Row:
    """A system and what the paper reports of it. Without `system`, it is quoted as published."""

    name: str
    system: str = ""
    """A recipe of definitions/ablation, "model" for the one that is given, "human" for people; or
    the order of sentences, or what is clustered, as the kind of experiment has them."""
    words: str = ""
    """The recipe of the Lexical-FCN below it; empty for that of the model."""
    category: Known = "predicted"
    said: int = 10
    """Of how many sentences a clip an order makes its ranking."""
    paper: tuple[float, ...] = ()
    """The paper's figures, column by column."""


@dataclass(frozen=True)
class Claim:
    """What the paper finds: one row above another."""

    better: str
    worse: str


@dataclass(frozen=True)
class Experiment:
    name: str
    about: About
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]

    @classmethod
    def read(cls, path: Path) -> Experiment:
        """From a TOML file: a section [about], then [[rows]] and [[claims]]."""
        tables = read_toml(path)
        if unknown := sorted(tables.keys() - {"about", "rows", "claims"}):
            raise ModelError(f"{path}: no section '{unknown[0]}'; there are about, rows, claims")
        experiment = cls(
            path.stem,
            _build(path, "about", About, tables.get("about")),
            tuple(_build(path, "rows", Row, row) for row in _list(path, tables, "rows")),
            tuple(_build(path, "claims", Claim, one) for one in _list(path, tables, "claims")),
        )
        names = {row.name for row in experiment.rows}
        named = {name for claim in experiment.claims for name in (claim.better, claim.worse)}
        if experiment.about.kind == "dense":
            named.add(experiment.about.baseline)
        if missing := sorted(named - names):
            raise ModelError(f"{path}: no row is called '{missing[0]}'")
        return experiment


def _list(path: Path, tables: dict[str, Any], section: str) -> list[Any]:
    found = tables.get(section, [])
    if not isinstance(found, list):
        raise ModelError(f"{path}: '{section}' must be a list: write [[{section}]]")
    return found


def _build(path: Path, section: str, kind: type[Options], table: Any) -> Options:
    if not isinstance(table, dict):
        raise ModelError(f"{path}: '{section}' must be a section: write [{section}]")
    try:
        options: Options = build_options(path, section, kind, table)
    except TypeError as error:  # a field without a default is missing
        raise ModelError(f"{path}: [{section}] {error}") from None
    return options
