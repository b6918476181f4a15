"""The page of results, made of files that a test writes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from densevidcap.cli import root
from densevidcap.errors import CorpusError
from densevidcap.repro.claims import Resampled, decide, list_claims, measure_claims
from densevidcap.repro.definition import Claim, Verdict
from densevidcap.repro.results import (
    Curve,
    Finding,
    Line,
    Measured,
    Outcome,
    Picture,
    Result,
    Table,
)

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
        (
            Finding(
                "both",
                (Measured("METEOR", 1.0, 0.5, 1.5), Measured("CIDEr", -1.0, -4.0, 2.0)),
            ),
        ),
        (
            Picture("lines", "Lines", "x", "y", (Curve("curve", (1.0, 2.0), (3.0, 4.0)),)),
            Picture("bars", "Bars", "", "y", (Curve("bar", (0.0, 1.0), (3.0, 4.0)),), ("a", "b")),
        ),
    ),
    "0123456789ab",
    (("commit", "c0ffee"), ("weights of models/one", "ab" * 32)),
)
CLAIMS = """
[[claims]]
name = "both"
text = "both ways beat one"
where = "Table 1"
paper = "25.9 above 25.7"
experiment = "table1"
better = "both ways"
worse = "one way"
[[claims]]
name = "published"
text = "the published beats one"
where = "Table 1"
experiment = "table1"
better = "published"
worse = "one way"
[[claims]]
name = "new"
text = "what is new reaches 90%"
where = "nowhere"
experiment = "table1"
better = "new"
worse = "one way"
share = 90.0
columns = ["CIDEr"]
[[claims]]
name = "later"
text = "what nobody ran"
where = "Table 9"
experiment = "table9"
needs = "other clips"
better = "a"
worse = "b"
[[claims]]
name = "ours"
text = "what we add"
where = "not in the paper"
experiment = "table9"
better = "a"
worse = "c"
[[claims]]
name = "proved"
text = "all are monotone"
where = "Sec. 3"
ours = "one is"
verdict = "opposite"
command = "pytest"
"""


def test_a_result_survives_its_file(tmp_path: Path) -> None:
    RESULT.save(tmp_path)
    assert Result.load(tmp_path / "table1" / "results.json") == RESULT


def test_the_page_has_ours_the_papers_and_whether_they_agree(tmp_path: Path) -> None:
    runs, docs = tmp_path / "runs", tmp_path / "docs"
    replace(RESULT, experiment="table2", title="Table 2").save(runs)
    RESULT.save(runs)
    (tmp_path / "claims.toml").write_text(CLAIMS)
    options = ["--out", str(runs), "--report", str(docs), "--definitions", str(tmp_path)]
    shown = CliRunner().invoke(root, ["experiment", *options, "--claims"])
    assert shown.exit_code == 0, shown.output
    page = (docs / "results.md").read_text()
    assert page.index("## Table 1") < page.index("## Table 2")
    for line in (
        "2017-07-21: 244 clips, 3,151 learned from. Run 0123456789ab.",
        "| one way | 20.0 (25.7) | 30.0 (32.5) |",
        "| published | (29.0) | (45.7) |",
        "| new | 22.0 | 31.0 |",
        "c0ffee  commit",
        "abababababab  weights of models/one",
        "Of the paper's 5 claims: 2 not run, 1 differ by metric, 1 undecided, 1 opposite.",
        "- Mind this.",
        "![Bars](pictures/bars.png)",
    ):
        assert line in page
    by = "`experiment table1`, run 0123456789ab"
    for line in (
        "| both ways beat one | Table 1 | 25.9 above 25.7 | METEOR +1.0 (+0.5 to +1.5), "
        f"CIDEr -1.0 (-4.0 to +2.0) | **agrees**: METEOR; **undecided**: CIDEr | {by} |",
        f"| the published beats one | Table 1 | – | – | **not run** | {by} |",
        "| what is new reaches 90% | nowhere | – | 103.3% (31.0 of 30.0) "
        f"| **undecided**: no interval | {by} |",
        "| what nobody ran | Table 9 | – | needs other clips | **not run** | `experiment table9` |",
        "| what we add | not in the paper | – | – | **not run** | `experiment table9` |",
        "| all are monotone | Sec. 3 | – | one is | **opposite** | `pytest` |",
    ):
        assert line in page
        assert line in shown.output
    assert page.index("| both ways beat one") < page.index("## Table 1")
    for name in ("lines", "bars"):
        with Image.open(docs / "pictures" / f"{name}.png") as picture:
            assert picture.format == "PNG"


PAIR = Claim("a", "t", "w", experiment="e", better="b", worse="c")
SHARE = replace(PAIR, share=90.0)
VALUES = st.lists(st.tuples(st.floats(1, 90), st.floats(1, 90)), min_size=2, max_size=9)


@pytest.mark.parametrize(
    ("claim", "low", "high", "verdict"),
    [
        (PAIR, 0.1, 2.0, "agrees"),
        (PAIR, -2.0, -0.1, "opposite"),
        (PAIR, -0.1, 2.0, "undecided"),
        (PAIR, 0.0, 2.0, "undecided"),
        (PAIR, -2.0, 0.0, "undecided"),
        (SHARE, 89.9, 95.0, "undecided"),
        (SHARE, 90.1, 95.0, "agrees"),
        (SHARE, 80.0, 89.9, "opposite"),
    ],
)
def test_only_an_interval_decides(claim: Claim, low: float, high: float, verdict: Verdict) -> None:
    assert decide(claim, Measured("CIDEr", (low + high) / 2, low, high)) == verdict


@given(VALUES, st.floats(0.5, 5))
def test_who_is_better_in_every_draw_agrees(values: list[tuple[float, float]], gain: float) -> None:
    worse = Resampled(("x", "y"), np.array(values[0]), np.array(values))
    better = replace(worse, figures=worse.figures + gain, draws=worse.draws + gain)
    for first, second, verdict in ((better, worse, "agrees"), (worse, better, "opposite")):
        (found,) = measure_claims([PAIR], {"": {"b": first, "c": second}})
        assert [decide(PAIR, each) for each in found.measured] == [verdict] * 2
    (itself,) = measure_claims([SHARE], {"": {"b": worse, "c": worse}})
    assert [each.mean for each in itself.measured] == pytest.approx([100, 100])
    named = replace(PAIR, columns=("y",))
    (one,) = measure_claims([named], {"": {"b": better, "c": worse}})
    assert [each.column for each in one.measured] == ["y"]
    assert measure_claims([PAIR], {"another": {"b": better, "c": worse}}) == ()


def test_a_line_of_dense_precision_can_be_measured_without_its_interval() -> None:
    lines = list_claims(
        [replace(PAIR, experiment="table1", better="new", worse="one way")], [RESULT]
    )
    assert [*lines][-1].split(" | ")[3] == "22.0 / 31.0 against 20.0 / 30.0"


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
