"""What an experiment compares: a file of definitions/, with the paper's figures in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from densevidcap.config_files import build_section, read_toml
from densevidcap.errors import ModelError

Kind = Literal["single", "dense", "ranking", "diversity", "loss", "grounding"]
Known = Literal["nothing", "likeliest", "predicted", "given"]
"""What a captioner is told of a clip's category: the one that it most probably has, all with their
probabilities (Eq. 14), or the one that people gave it."""

Verdict = Literal["agrees", "opposite", "undecided", "not run"]
"""What a claim comes to: it agrees where the 95% interval lies on the paper's side, is opposite
where it lies on the other, and is undecided otherwise."""

CLAIMS = "claims.toml"
ABLATION = "ablation"
"""Beside the experiments: a config for each baseline."""
DEFINITIONS = Path(__file__).parent / "definitions"
"""Those of the paper's tables and figures, and of grounding."""


@dataclass(frozen=True)
class About:
    title: str
    kind: Kind
    """One sentence a clip, several, who ranks these, how they differ, how fast words are learned,
    or where they point."""
    split: str = "validate"
    """Of the clips that are measured."""
    words: str = ""
    """The config of a Lexical-FCN that all rows build on, where that of the given model is of no
    use: a corpus of features that others extracted."""
    baseline: str = ""
    """Of dense captions: the row that others are given in percent of."""
    notes: tuple[str, ...] = ()
    """For the report: what a reader must know to compare us with the paper."""


@dataclass(frozen=True)
class Row:
    """A system and what the paper reports of it. Without `system`, it is quoted as published."""

    name: str
    system: str = ""
    """A config of definitions/ablation, or a system of configs/systems; "model" for the one that is
    given, "human" for people; or the order of sentences, or what is clustered, as the kind of
    experiment has them."""
    words: str = ""
    """The config of the Lexical-FCN below it; empty for that of the model."""
    without: tuple[str, ...] = ()
    """Streams of the system that are left out, such as sound, where a corpus has none."""
    category: Known = "predicted"
    said: int = 10
    """Of how many sentences a clip an order makes its ranking."""
    share: float = 1.0
    """Of the training clips that an evaluator learns from, where these are compared."""
    paper: tuple[float, ...] = ()
    """The paper's figures, column by column."""


@dataclass(frozen=True)
class Claim:
    """What the paper's text says: a line of claims.toml."""

    name: str
    text: str
    where: str
    paper: str = ""
    """Its figures, or what it leaves open."""
    experiment: str = ""
    """That tests it, with the names of two of its rows."""
    table: str = ""
    """Title of the table in which both stand; that of most experiments has none."""
    better: str = ""
    worse: str = ""
    columns: tuple[str, ...] = ()
    """In which `better` is above `worse`; all, if none is named."""
    share: float = 0.0
    """Percent of `worse` that `better` reaches; 0: it is above it."""
    trainings: tuple[tuple[str, str], ...] = ()
    """Further pairs of rows: the same two systems from other random numbers. Of several pairs the
    mean is judged, by draws of clips and of pairs."""
    control: str = ""
    """Another claim, of the same rows' kind, that cannot tell anything: where it agrees too, or was
    not measured, this one is undecided."""
    part_of: str = ""
    """The first claim of the same statement; a statement is counted once."""
    needs: str = ""
    """What the experiment cannot do without and few have; told as long as it is not run."""
    ours: str = ""
    """Of one that no experiment tests: what we know, by which command."""
    command: str = ""
    verdict: Verdict = "not run"

    def __post_init__(self) -> None:
        if bool(self.experiment) == bool(self.ours):
            raise ModelError(f"claim '{self.name}' needs either an experiment, or 'ours'")
        if self.experiment and not (self.better and self.worse):
            raise ModelError(f"claim '{self.name}' needs the rows 'better' and 'worse'")
        if any(len(pair) != 2 for pair in self.trainings):
            raise ModelError(f"claim '{self.name}': each of 'trainings' is a pair of rows")

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Of rows: the better, and the worse."""
        return ((self.better, self.worse), *self.trainings)

    @property
    def asked(self) -> str:
        """What an experiment has to measure for it, in short: an answer to another is none."""
        question = [self.table, self.pairs, self.columns, bool(self.share)]
        return sha256(json.dumps(question).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Claims:
    claims: tuple[Claim, ...] = ()

    def __post_init__(self) -> None:
        names = [claim.name for claim in self.claims]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ModelError(f"two claims are called '{twice[0]}'")
        firsts: set[str] = set()
        for claim in self.claims:
            for other in (claim.control, claim.part_of):
                if other and other not in names:
                    raise ModelError(f"claim '{claim.name}': no claim is called '{other}'")
            if claim.control == claim.name:
                raise ModelError(f"claim '{claim.name}' is its own control; name another claim")
            if not claim.part_of:
                firsts.add(claim.name)
            elif claim.part_of not in firsts:
                raise ModelError(
                    f"claim '{claim.name}': '{claim.part_of}' is not the first of a statement above"
                    " it; let 'part_of' name that, or put it above"
                )


def read_claims(definitions: Path) -> tuple[Claim, ...]:
    """Those that stand beside the experiments, in the paper's order; there may be none."""
    path = definitions / CLAIMS
    return build_section(str(path), Claims, read_toml(path)).claims if path.is_file() else ()


@dataclass(frozen=True)
class Experiment:
    name: str
    about: About
    rows: tuple[Row, ...] = ()

    def __post_init__(self) -> None:
        base = self.about.baseline
        if self.about.kind == "dense" and base not in {row.name for row in self.rows}:
            raise ModelError(f"no row is called '{base}'")

    @classmethod
    def read(cls, path: Path) -> Experiment:
        """From a TOML file: a section [about], then [[rows]]."""
        return build_section(str(path), cls, {**read_toml(path), "name": path.stem})


def find_definition(definitions: Path, name: str) -> Path:
    """The file of an experiment, of that folder or of a corpus of its own below it."""
    path = definitions / f"{name}.toml"
    below = [each for each in definitions.glob(f"*/{name}.toml") if each.parent.name != ABLATION]
    return path if path.is_file() or not below else min(below)


def list_experiments(definitions: Path) -> list[str]:
    """The names of all in that folder, tables first; those of other corpora have theirs below."""
    names = {path.stem for path in definitions.glob("*.toml")} - {Path(CLAIMS).stem}
    return sorted(names, key=lambda name: (not name.startswith("table"), name))
