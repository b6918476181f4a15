"""Files of experiments: those of the repository, and faults in one's own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from densevidcap.config import ModelConfig
from densevidcap.data.manifest import ClipRecord
from densevidcap.errors import ModelError
from densevidcap.repro.definition import (
    ABLATION,
    DEFINITIONS,
    Experiment,
    list_experiments,
    read_claims,
)
from densevidcap.repro.run import find_experiment
from densevidcap.repro.runner import Paths, Runner
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


def list_published(text: str) -> dict[str, tuple[float, ...]]:
    """Rows of figures, as the paper prints them."""
    rows = (line.rpartition(":") for line in text.strip().splitlines())
    return {name.strip(): tuple(map(float, figures.split())) for name, _, figures in rows}


RIVALS = """
Mean-pooling: 23.7 30.4 52.0 35.0
S2VT: 25.7 31.4 55.9 35.2
VideoLAB: 27.7 39.5 61.0 44.2
Aalto: 27.7 41.1 59.6 46.4
v2t_navigator: 29.0 43.7 61.4 45.7
Ours without category: 27.7 39.0 60.1 44.0
Ours category-wise: 28.2 40.9 61.8 44.7
Ours + motion + sound: 29.4 44.2 62.6 50.5
"""
PUBLISHED = {
    "table1": """
Unidirectional (VGG-16): 25.2 32.7 56.0 31.1
Bi-directional (VGG-16): 25.4 32.8 56.5 32.9
Unidirectional (ResNet-50): 25.7 32.1 56.4 32.5
Bi-directional (ResNet-50): 25.9 33.7 56.9 32.6
""",
    "table2": """
MIL: 23.3 28.7 53.1 24.4
MIMLL: 25.9 33.7 56.9 32.6
""",
    "table3": RIVALS + "Soft-attention: 25.0 28.5 53.3 37.1\nruc-uva: 27.5 39.4 60.0 48.0",
    "table4": """
ruc-uva: 26.9 38.7 58.7 45.9
VideoLAB: 27.7 39.1 60.6 44.1
Aalto: 26.9 39.8 59.8 45.7
v2t_navigator: 28.2 40.8 60.9 44.8
Ours + motion + sound: 28.3 41.4 61.1 48.9
""",
    "table5": """
OSR + ORE: 29.3 42.3 64.1 43.4 27.9 38.8 61.4 39.1
Dense + ORE: 28.0 40.8 62.8 41.9 26.4 36.6 59.5 36.6
DenseVidCap: 26.5 34.8 57.7 37.3 26.1 33.6 57.1 35.3
""",
    "whole-clips": RIVALS,
    "diversity": "Human captions: 0.463\nDenseVidCap: 0.501\nClustered captions: 0.569",
    "category": """
Without category: 27.7 39.0 60.1 44.0
One captioner, category predicted: 28.2 40.9 61.8 44.7
""",
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_rows_quote_the_papers_tables(name: str) -> None:
    rows = Experiment.read(DEFINITIONS / f"{name}.toml").rows
    assert {row.name: row.paper for row in rows if row.paper} == list_published(PUBLISHED[name])


def test_every_claim_can_be_measured(tmp_path: Path) -> None:
    """Its lines, table and columns are those that its experiment gives intervals of."""
    claims = read_claims(DEFINITIONS)
    assert len(claims) > 20
    paths = Paths(DEFINITIONS, tmp_path, tmp_path, tmp_path, tmp_path, tmp_path, boxes=tmp_path)
    for name in {claim.experiment for claim in claims if claim.experiment}:
        assert find_experiment(name, paths).name == name
    for claim in claims:
        assert claim.experiment or (claim.ours and claim.command)


DENIED = {"resnet-one-way", "resnet-both-ways"}
"""Claims that the paper's own table denies in a metric, which their lines say."""
ABOVE = re.compile(r"([\d./ ]+) (above|beside) ([\d./ ]+)(,.*)?")


def test_claims_quote_the_figures_of_their_rows_on_the_papers_side() -> None:
    quoted = 0
    for claim in read_claims(DEFINITIONS):
        if not claim.experiment or claim.where == "not in the paper":
            continue
        published = list_published(PUBLISHED.get(claim.experiment, ""))
        # With motion and sound, where clips have them; the paper has no others.
        ours = "Ours + motion + sound" if claim.name == "state-of-the-art-ruc-uva" else claim.better
        better, worse = (
            published.get(name.removesuffix(" without motion, sound"), ())
            for name in (ours, claim.worse)
        )
        if claim.share or claim.name in DENIED or not (better and worse):
            assert claim.name in DENIED or claim.share or "above" not in claim.paper or not better
        else:
            assert all(more > less for more, less in zip(better, worse, strict=True)), claim.name
        if found := ABOVE.fullmatch(claim.paper):
            tops = slice(4, 8) if claim.table.endswith("top 10") else slice(0, 4)
            figures = [[float(each) for each in found[place].split(" / ")] for place in (1, 3)]
            assert figures == [list(better[tops]), list(worse[tops])], claim.name
            quoted += 1
    assert quoted > 20


def test_what_tells_nothing_is_the_control_of_what_it_would_fake() -> None:
    claims = {claim.name: claim for claim in read_claims(DEFINITIONS)}
    controls = {name: claim.control for name, claim in claims.items() if claim.control}
    assert controls == {
        "automatic-5": "random-5",
        "automatic-10": "random-10",
        "diverse": "diverse-null",
    }
    assert {claims[name].share for name in ("automatic-5", "automatic-10")} == {82.0}
    for name, control in controls.items():
        assert claims[control].where == "not in the paper"
        assert claims[control].worse == claims[name].worse
        assert (claims[control].table, claims[control].share) == (
            claims[name].table,
            claims[name].share,
        )


def test_trainings_of_a_claim_differ_in_nothing_but_random_numbers() -> None:
    several = [claim for claim in read_claims(DEFINITIONS) if claim.trainings]
    assert several
    for claim in several:
        rows = {
            row.name: row for row in Experiment.read(DEFINITIONS / f"{claim.experiment}.toml").rows
        }
        for places in zip(*claim.pairs, strict=True):
            systems = [read_system(DEFINITIONS, rows[name].system, {}) for name in places]
            seeds = [system.config.training.sentences.seed for system in systems]
            assert len({*seeds}) == len(seeds)
            same = {"training.sentences.seed": 0}
            assert (
                len({json.dumps(system.config.override(same).to_dict()) for system in systems}) == 1
            )


def test_bi_directional_rows_read_both_ways() -> None:
    for row in Experiment.read(DEFINITIONS / "table1.toml").rows:
        kind = read_system(DEFINITIONS, row.system, {}).config.captioner.kind
        assert kind == ("bi-s2vt" if row.name.startswith("Bi-directional") else "s2vt")


def test_a_categorys_captioner_and_its_rival_read_as_long() -> None:
    each, rival = (
        read_system(DEFINITIONS, n, {}) for n in ("category-captioners", "bi-s2vt-longer")
    )
    assert each.config == rival.config
    assert each.section.each_category == rival.section.start == "bi-s2vt"


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


def test_sentences_of_other_files_are_kept_elsewhere(tmp_path: Path) -> None:
    """Clips of the same ids; a corpus that was moved as it is remains the same."""
    runner = object.__new__(Runner)
    runner.paths, runner.split = (
        Paths(tmp_path, tmp_path, tmp_path, tmp_path, tmp_path, tmp_path),
        "validate",
    )
    names = {}
    for name, content in (("here/a.mp4", b"one"), ("there/a.mp4", b"two"), ("here/b.mp4", b"one")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        runner.clips = [ClipRecord("clip", str(path), ("a dog",), None, "validate")]
        names[name] = runner.keep("model", "1")
    assert names["here/a.mp4"] == names["there/a.mp4"] != names["here/b.mp4"]
