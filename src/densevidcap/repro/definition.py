"""What an experiment compares: a file of definitions/, with the paper's figures in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from densevidcap.config import build_section, read_toml
from densevidcap.errors import ModelError

Kind = Literal["single", "dense", "diversity", "loss", "grounding"]
Known = Literal["nothing", "predicted", "given"]
"""What a captioner is told of a clip's category."""

DEFINITIONS = Path(__file__).parent / "definitions"
"""Those of the paper's tables and figures, and of grounding."""


@dataclass(frozen=True)
class About:
    title: str
    kind: Kind
    """One sentence a clip, several, how these differ, how fast words are learned, or where they
    point."""
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
    """A config of definitions/ablation, "model" for the one that is given, "human" for people; or
    the order of sentences, or what is clustered, as the kind of experiment has them."""
    words: str = ""
    """The config of the Lexical-FCN below it; empty for that of the model."""
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
    rows: tuple[Row, ...] = ()
    claims: tuple[Claim, ...] = ()

    def __post_init__(self) -> None:
        names = {row.name for row in self.rows}
        named = {name for claim in self.claims for name in (claim.better, claim.worse)}
        if self.about.kind == "dense":
            named.add(self.about.baseline)
        if missing := sorted(named - names):
            raise ModelError(f"no row is called '{missing[0]}'")

    @classmethod
    def read(cls, path: Path) -> Experiment:
        """From a TOML file: a section [about], then [[rows]] and [[claims]]."""
        return build_section(str(path), cls, {**read_toml(path), "name": path.stem})
