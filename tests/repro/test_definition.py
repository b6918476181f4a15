"""Files of experiments: those of the repository, and faults in one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from densevidcap.config import ModelConfig
from densevidcap.errors import ModelError
from densevidcap.repro.definition import (
    ABLATION,
    DEFINITIONS,
    Experiment,
    list_experiments,
    read_claims,
)
from densevidcap.repro.systems import SYSTEMS, read_system

TABLES = [f"table{number}" for number in range(1, 6)]
ABOUT = '[about]\ntitle = "A table"\nkind = "single"\n'


OTHERS = [
    "augmentation",
    "category",
    "diversity",
    "evaluator",
    "grounding",
    "loss",
    "whole-clips",
]


def test_all_are_listed_tables_first() -> None:
    assert list_experiments(DEFINITIONS) == [*TABLES, *OTHERS]


@pytest.mark.parametrize("name", [*TABLES, *OTHERS])
def test_the_papers_tables_can_be_read_with_all_their_configs(name: str) -> None:
    experiment = Experiment.read(DEFINITIONS / f"{name}.toml")
    assert experiment.name == name
    if experiment.about.kind == "single":
        for row in experiment.rows:
            assert len(row.paper) in (0, 4)
            if row.words:
                ModelConfig.read(DEFINITIONS / ABLATION / f"{row.words}.toml")
            if row.system not in ("", "model", "human"):
                system = read_system(DEFINITIONS, row.system, {}).leave_out(row.without)
                assert all(
                    not {*config.streams.names} & {*row.without}
                    for config in system.captioners.values()
                )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "needs 'about'"),
        ("about = 1", "'about' must be a section: write [about]"),
        ('[about]\ntitle = "x"\n', "[about] "),
        (ABOUT.replace("single", "triple"), "kind = 'triple' must be one of"),
        (ABOUT + "[rows]\n", "'rows' must be a list of sections: write [[rows]]"),
        (ABOUT + "[[rows]]\nmodel = 1\n", "[rows] has no 'model'"),
        (ABOUT.replace("single", "dense") + 'baseline = "a"\n', "no row is called 'a'"),
        (ABOUT + "[column]\n", "has no 'column'"),
    ],
)
def test_faults_are_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "table.toml"
    path.write_text(text)
    with pytest.raises(ModelError) as caught:
        Experiment.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_claim_names_what_its_experiment_has() -> None:
    claims = read_claims(DEFINITIONS)
    assert len(claims) > 20
    for claim in claims:
        if not claim.experiment:
            assert claim.ours
            assert claim.command
            continue
        experiment = Experiment.read(DEFINITIONS / f"{claim.experiment}.toml")
        rows = {row.name for row in experiment.rows} | {"5 clusters", "any other number"}
        for name in (claim.better, claim.worse):
            assert name.partition(":")[0] in rows, f"{claim.name}: {name}"


CLAIM = '[[claims]]\nname = "a"\ntext = "t"\nwhere = "w"\n'
PAIR = 'experiment = "e"\nbetter = "b"\nworse = "c"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CLAIM, "claim 'a' needs either an experiment, or 'ours'"),
        (CLAIM + PAIR + 'ours = "x"\n', "claim 'a' needs either an experiment, or 'ours'"),
        (CLAIM + 'experiment = "e"\nbetter = "b"\n', "needs the rows 'better' and 'worse'"),
        (2 * (CLAIM + PAIR), "two claims are called 'a'"),
        (CLAIM + 'ours = "x"\nverdict = "maybe"\n', "verdict = 'maybe' must be one of"),
    ],
)
def test_faults_of_claims_are_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "claims.toml").write_text(text)
    with pytest.raises(ModelError) as caught:
        read_claims(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'claims.toml'}: ")
    assert said in str(caught.value)


def test_systems_of_the_challenge_say_how_they_pick() -> None:
    found = {path.stem for path in SYSTEMS.glob("*.toml")} - {"budget"}
    assert found == {"aalto", "ruc-uva", "v2t_navigator", "videolab"}
    aalto = read_system(DEFINITIONS, "aalto", {"captioner.hidden": 8})
    assert aalto.section.pick == "evaluator"
    assert list(aalto.captioners) == ["appearance", "motion", "words"]
    assert {config.captioner.hidden for config in aalto.captioners.values()} == {8}
    assert list(aalto.leave_out(["i3d"]).captioners) == ["appearance", "words"]
    with pytest.raises(ModelError, match="nothing is left to read"):
        aalto.leave_out(["i3d", "frames"])


def test_faults_of_systems_are_named(tmp_path: Path) -> None:
    (tmp_path / ABLATION).mkdir()
    path = tmp_path / ABLATION / "own.toml"
    for text, said in (
        ("system = 1", "'system' must be a section"),
        ('[system]\npick = "best"', "pick = 'best' must be one of"),
        ('[system.captioners.a]\n"eyes.colour" = 1', "no setting 'eyes.colour'"),
    ):
        path.write_text(text)
        with pytest.raises(ModelError) as caught:
            read_system(tmp_path, "own", {})
        assert str(caught.value).startswith(f"{path}: ")
        assert said in str(caught.value)
