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
from densevidcap.errors import CorpusError, ModelError
from densevidcap.repro.claims import (
    Resampled,
    count_verdicts,
    decide,
    join_trainings,
    list_claims,
    measure_claims,
)
from densevidcap.repro.definition import Claim, Claims, Verdict
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

BOTH = Claim(
    "both", "both ways beat one", "T", experiment="table1", better="both ways", worse="one way"
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
                BOTH.asked,
            ),
        ),
        (
            Picture("lines", "Lines", "x", "y", (Curve("curve", (1.0, 2.0), (3.0, 4.0)),)),
            Picture("bars", "Bars", "", "y", (Curve("bar", (0.0, 1.0), (3.0, 4.0)),), ("a", "b")),
        ),
    ),
    "0123456789ab",
    (("commit", "c0ffee123456-dirty"), ("weights of models/one", "ab" * 32)),
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
        "2017-07-21: 244 clips, 3,151 to learn from. Run 0123456789ab.",
        "| one way | 20.0 (25.7) | 30.0 (32.5) |",
        "| published | (29.0) | (45.7) |",
        "| new | 22.0 | 31.0 |",
        "c0ffee123456-dirty  commit",
        "abababababab  weights of models/one",
        "5 statements: 2 not run, 1 differ by part or metric, 1 undecided, 1 opposite.",
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


def test_an_answer_to_another_question_is_none() -> None:
    """Whoever changes a claim has to measure again; its figures alone remain."""
    for claim in (
        replace(BOTH, worse="new"),
        replace(BOTH, share=95.0),
        replace(BOTH, columns=("CIDEr",)),
        replace(BOTH, trainings=(("new", "one way"),)),
    ):
        *_, line = list_claims([claim], [RESULT])
        assert "**undecided**: no interval" in line
    *_, line = list_claims([replace(BOTH, text="said otherwise")], [RESULT])
    assert "no interval" not in line


def test_what_is_defined_otherwise_today_answers_nothing(tmp_path: Path) -> None:
    runs, docs, own = (tmp_path / name for name in ("runs", "docs", "own"))
    own.mkdir()
    (own / "claims.toml").write_text(CLAIMS)
    (own / "table1.toml").write_text("# Another one.")
    replace(RESULT, origin=(("definition", "ab" * 32),)).save(runs)
    options = ["--out", str(runs), "--report", str(docs), "--definitions", str(own), "--claims"]
    shown = CliRunner().invoke(root, ["experiment", *options])
    assert shown.exit_code == 0, shown.output
    line = (
        "| both ways beat one | Table 1 | 25.9 above 25.7 | – | **not run** | `experiment table1` |"
    )
    page = (docs / "results.md").read_text()
    assert line in page
    assert line in shown.output
    assert "**The experiment is defined otherwise today: run it again.**" in page
    assert "| one way | 20.0 (25.7) | 30.0 (32.5) |" in page


CONTROL = replace(BOTH, name="control", better="new", where="not in the paper")


def test_where_a_control_agrees_too_nothing_is_told() -> None:
    findings = tuple(
        Finding(
            claim.name, (Measured("METEOR", 2, 1, 3), Measured("CIDEr", 2, low, 3)), claim.asked
        )
        for claim, low in ((BOTH, 1), (CONTROL, -1))
    )
    result = replace(RESULT, outcome=replace(RESULT.outcome, findings=findings))
    claims = [replace(BOTH, control="control"), CONTROL]
    *_, line, _ = list_claims(claims, [result])
    assert "**undecided** (the control below agrees too): METEOR; **agrees**: CIDEr" in line


def test_without_its_control_a_claim_is_not_told_to_agree() -> None:
    """A control that was changed, or is of an experiment that nobody ran, must not help."""
    claim = replace(BOTH, columns=("METEOR",), control="control")
    found = (Finding("both", (Measured("METEOR", 2, 1, 3),), claim.asked),)
    result = replace(RESULT, outcome=replace(RESULT.outcome, findings=found))
    for control in (CONTROL, replace(CONTROL, experiment="table9")):
        *_, line, _ = list_claims([claim, control], [result])
        assert "**undecided**: its control has no interval" in line
        assert count_verdicts([claim, control], [result]).endswith("1 undecided.")


def test_a_control_is_heard_in_its_own_experiment() -> None:
    control = replace(CONTROL, experiment="table9")
    results = [
        replace(
            RESULT,
            experiment=claim.experiment,
            outcome=replace(
                RESULT.outcome,
                findings=(Finding(claim.name, (Measured("METEOR", 2, low, 3),), claim.asked),),
            ),
        )
        for claim, low in ((BOTH, 1), (control, -1))
    ]
    *_, line, _ = list_claims([replace(BOTH, control="control"), control], results)
    assert "**agrees**: METEOR" in line


def test_a_statement_counts_once_and_agrees_if_all_its_parts_do() -> None:
    part = replace(BOTH, name="part", better="new", part_of="both")
    for low, told in ((0.5, "1 agree"), (-0.5, "1 differ by part or metric")):
        claims = [replace(each, columns=("METEOR",)) for each in (BOTH, part)]
        found = tuple(
            Finding(claim.name, (Measured("METEOR", 1, lowest, 2),), claim.asked)
            for claim, lowest in zip(claims, (0.5, low), strict=True)
        )
        result = replace(RESULT, outcome=replace(RESULT.outcome, findings=found))
        assert count_verdicts(claims, [result]) == f"Of the paper's 1 statements: {told}."


def test_a_metric_without_an_interval_is_undecided() -> None:
    found = (Finding("both", (Measured("METEOR", 1, 0.5, 2),), BOTH.asked),)
    result = replace(RESULT, outcome=replace(RESULT.outcome, findings=found))
    *_, line = list_claims([BOTH], [result])
    assert "**agrees**: METEOR; **undecided** (no interval): CIDEr" in line
    assert count_verdicts([BOTH], [result]).endswith("1 differ by part or metric.")


def test_a_part_that_was_not_run_has_no_say_as_long_as_another_was() -> None:
    told = (
        Finding("both", (Measured("METEOR", 1, 0.5, 2), Measured("CIDEr", 1, 0.5, 2)), BOTH.asked),
    )
    result = replace(RESULT, outcome=replace(RESULT.outcome, findings=told))
    part = replace(BOTH, name="part", experiment="table9", part_of="both")
    assert count_verdicts([BOTH, part], [result]).endswith("1 statements: 1 agree.")
    assert count_verdicts([BOTH, part], []).endswith("1 statements: 1 not run.")


@given(VALUES, VALUES)
def test_several_trainings_are_their_mean_and_alike_ones_are_as_one(
    first: list[tuple[float, float]], second: list[tuple[float, float]]
) -> None:
    size = min(len(first), len(second))
    lines = [
        Resampled(("x", "y"), np.array(each[0]), np.array(each[:size])) for each in (first, second)
    ]
    joined = join_trainings(lines)
    assert joined.figures == pytest.approx((lines[0].figures + lines[1].figures) / 2)
    assert join_trainings(lines[:1]) is lines[0]
    assert join_trainings([lines[0]] * 3).draws == pytest.approx(lines[0].draws)


def test_a_claim_of_several_trainings_is_of_all_pairs() -> None:
    rows = {name: float(place) for place, name in enumerate(("a", "b", "c", "d"))}
    lines = {
        name: Resampled(("x",), np.array([value**2]), np.full((1000, 1), value**2))
        for name, value in rows.items()
    }
    claim = replace(BOTH, better="b", worse="a", trainings=(("d", "c"),))
    (finding,) = measure_claims([claim], {"": lines})
    (measured,) = finding.measured
    assert measured.mean == pytest.approx((1 + 5) / 2)
    assert measured.low < 0 < 6 < measured.high
    assert not measure_claims([claim], {"": {name: lines[name] for name in "abc"}})


STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}
"""By degrees of freedom: the end of its 95% interval, of any table."""


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=5))
def test_trainings_alone_have_students_interval(means: list[float]) -> None:
    """The clips say the same in every draw: what is left is how few trainings there are."""
    lines = [Resampled(("x",), np.array([mean]), np.full((1000, 1), mean)) for mean in means]
    (measured,) = join_trainings(lines).measure()
    half = STUDENT[len(means) - 1] * np.std(means, ddof=1) / np.sqrt(len(means))
    assert measured.mean == pytest.approx(np.mean(means))
    assert measured.high - np.mean(means) == pytest.approx(half, rel=0.05, abs=1e-6)
    assert np.mean(means) - measured.low == pytest.approx(half, rel=0.05, abs=1e-6)


@pytest.mark.parametrize("trainings", [2, 3])
@pytest.mark.parametrize("apart", [0.2, 1.0, 6.0])
def test_an_interval_of_trainings_misses_the_truth_no_more_often_than_it_says(
    trainings: int, apart: float
) -> None:
    """Clips with a deviation of 1, trainings with one of `apart`; the truth is 0."""
    source, missed, rounds = np.random.default_rng(1), 0, 400
    for _ in range(rounds):
        clips = source.normal()
        figures = clips + apart * source.normal(size=trainings)
        drawn = clips + source.normal(size=1000)
        lines = [
            Resampled(("x",), np.array([figure]), (drawn + figure - clips)[:, None])
            for figure in figures
        ]
        (measured,) = join_trainings(lines).measure()
        missed += not measured.low <= 0 <= measured.high
    assert missed / rounds < 0.075


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"control": "x"}, "no claim is called 'x'"),
        ({"part_of": "y"}, "no claim is called 'y'"),
        ({"control": "other"}, "is its own control; name another claim"),
        ({"part_of": "other"}, "'other' is not the first of a statement above it"),
    ],
)
def test_a_claim_names_others_that_are_there(changed: dict[str, str], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        Claims((BOTH, replace(BOTH, name="other", **changed)))  # type: ignore[arg-type]


def test_a_part_of_a_part_would_count_as_another_statement() -> None:
    part = replace(BOTH, name="part", part_of="both")
    with pytest.raises(ModelError, match="'part' is not the first of a statement"):
        Claims((BOTH, part, replace(BOTH, name="other", part_of="part")))
    with pytest.raises(ModelError, match="or put it above"):
        Claims((part, BOTH))
    assert Claims((BOTH, part, replace(part, name="other"))).claims


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


def test_who_names_nothing_is_told_what_there_is(tmp_path: Path) -> None:
    failed = CliRunner().invoke(root, ["experiment", "--out", str(tmp_path)])
    assert failed.exit_code == 2
    assert "name experiments, or give --report or --claims" in failed.output


def test_a_folder_of_definitions_that_is_not_there_is_named(tmp_path: Path) -> None:
    RESULT.save(tmp_path)
    missing = tmp_path / "none"
    for asked in (["--claims"], ["--report", str(tmp_path)], ["all", "--data", "clips.jsonl"]):
        options = ["--out", str(tmp_path), "--definitions", str(missing), *asked]
        failed = CliRunner().invoke(root, ["experiment", *options])
        assert f"{missing}: no such folder; name one" in str(failed.exception)


def test_experiments_need_clips(tmp_path: Path) -> None:
    failed = CliRunner().invoke(root, ["experiment", "table1", "--out", str(tmp_path)])
    assert failed.exit_code == 2
    assert "Missing option '--data'" in failed.output
