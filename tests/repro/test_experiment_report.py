"""The page of results, made of files that a test writes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from densevidcap.cli import root
from densevidcap.errors import CorpusError
from densevidcap.repro.report import compare_directions
from densevidcap.repro.results import Curve, Finding, Line, Outcome, Picture, Result, Table

RESULT = Result(
    "table1",
    "Table 1",
    "densevidcap experiment table1 --data clips.jsonl",
    "2017-07-21",
    244,
    3151,
    ("Mind this.",),
    Outcome(
        (
            Table(
                "",
                ("METEOR", "CIDEr"),
                (
                    Line("one way", (20.0, 30.0), (25.7, 32.5)),
                    Line("both ways", (21.0, 29.0), (25.9, 32.6)),
                    Line("published", (), (29.0, 45.7)),
                    Line("new", (22.04, 31.0)),
                ),
            ),
        ),
        (Finding("both ways", "one way", (-1.0, -4.0, 2.0)), Finding("published", "one way")),
        (
            Picture("lines", "Lines", "x", "y", (Curve("curve", (1.0, 2.0), (3.0, 4.0)),)),
            Picture("bars", "Bars", "", "y", (Curve("bar", (0.0, 1.0), (3.0, 4.0)),), ("a", "b")),
        ),
    ),
)


def test_a_result_survives_its_file(tmp_path: Path) -> None:
    RESULT.save(tmp_path)
    assert Result.load(tmp_path / "table1" / "results.json") == RESULT


def test_the_page_has_ours_the_papers_and_whether_they_agree(tmp_path: Path) -> None:
    runs, docs = tmp_path / "runs", tmp_path / "docs"
    replace(RESULT, experiment="table2", title="Table 2").save(runs)
    RESULT.save(runs)
    shown = CliRunner().invoke(root, ["experiment", "--out", str(runs), "--report", str(docs)])
    assert shown.exit_code == 0, shown.output
    page = (docs / "results.md").read_text()
    assert page.index("## Table 1") < page.index("## Table 2")
    for line in (
        "2017-07-21: 244 clips, 3,151 learned from.",
        "| one way | 20.0 (25.7) | 30.0 (32.5) |",
        "| published | (29.0) | (45.7) |",
        "| new | 22.0 | 31.0 |",
        "- *both ways* above *one way*: agrees with the paper: METEOR; does not: CIDEr. "
        "CIDEr -1.0, 95% interval -4.0 to +2.0.",
        "- *published* above *one way*: not compared.",
        "- Mind this.",
        "![Bars](pictures/bars.png)",
    ):
        assert line in page
    for name in ("lines", "bars"):
        with Image.open(docs / "pictures" / f"{name}.png") as picture:
            assert picture.format == "PNG"


FIGURES = st.tuples(*[st.floats(0, 100)] * 4)


@given(FIGURES, FIGURES)
def test_a_system_agrees_with_itself(better: tuple[float, ...], worse: tuple[float, ...]) -> None:
    table = Table("", ("a", "b", "c", "d"), ())
    found = compare_directions(table, Line("", better, better), Line("", worse, worse))
    assert found == dict.fromkeys(table.columns, True)


@pytest.mark.parametrize("content", ["[]", "{}", '{"experiment": 1, "surplus": 2}', "{"])
def test_files_that_are_no_results_are_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "table1" / "results.json"
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(CorpusError, match=r"table1/results\.json"):
        Result.load(path)


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    report = ["--report", str(tmp_path / "docs")]
    failed = CliRunner().invoke(root, ["experiment", "--out", str(tmp_path), *report])
    assert f"{tmp_path}: no results in it; run an experiment first" in str(failed.exception)


def test_experiments_need_clips(tmp_path: Path) -> None:
    failed = CliRunner().invoke(root, ["experiment", "table1", "--out", str(tmp_path)])
    assert failed.exit_code == 2
    assert "Missing option '--data'" in failed.output
