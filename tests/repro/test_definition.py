"""Files of experiments: those of the repository, and faults in one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from densevidcap.config import ModelConfig
from densevidcap.errors import ModelError
from densevidcap.repro.definition import DEFINITIONS, Experiment
from densevidcap.repro.runner import CONFIGS

TABLES = [f"table{number}" for number in range(1, 6)]
ABOUT = '[about]\ntitle = "A table"\nkind = "single"\n'


@pytest.mark.parametrize("name", [*TABLES, "diversity", "loss", "grounding"])
def test_the_papers_tables_can_be_read_with_all_their_configs(name: str) -> None:
    experiment = Experiment.read(DEFINITIONS / f"{name}.toml")
    assert experiment.name == name
    if experiment.about.kind == "single":
        for row in experiment.rows:
            assert len(row.paper) in (0, 4)
            if row.words:
                ModelConfig.read(DEFINITIONS / CONFIGS / f"{row.words}.toml")
            if row.system not in ("", "model", "human"):
                ModelConfig.read(DEFINITIONS / CONFIGS / f"{row.system}.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "needs 'about'"),
        ("about = 1", "'about' must be a section: write [about]"),
        ('[about]\ntitle = "x"\n', "[about] "),
        (ABOUT.replace("single", "triple"), "kind = 'triple' must be one of"),
        (ABOUT + "[rows]\n", "'rows' must be a list of sections: write [[rows]]"),
        (ABOUT + "[[rows]]\nmodel = 1\n", "[rows] has no 'model'"),
        (ABOUT + '[[claims]]\nbetter = "a"\nworse = "a"\n', "no row is called 'a'"),
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
