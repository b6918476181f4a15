"""What becomes of the paper's claims: measured with intervals, judged by them, and listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from densevidcap.metrics.bootstrap import Interval
from densevidcap.repro.definition import Claim, Verdict
from densevidcap.repro.results import Finding, Line, Measured, Result, Table

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Resampled:
    """A line's figures, of the clips as they are and of many draws of them."""

    columns: tuple[str, ...]
    figures: Array
    """(C,)"""
    draws: Array
    """(N, C): of the same draws as any other line of the table."""

    def above(self, other: Resampled) -> Resampled:
        """By how much it is above another."""
        return Resampled(self.columns, self.figures - other.figures, self.draws - other.draws)

    def share_of(self, other: Resampled) -> Resampled:
        """In percent of another; nothing is all of nothing."""
        return Resampled(
            self.columns, _relate(self.figures, other.figures), _relate(self.draws, other.draws)
        )

    def measure(self, columns: Sequence[str] = ()) -> tuple[Measured, ...]:
        """Each of these columns, or all, with its interval."""
        return tuple(
            Measured(column, *Interval.span(figure, drawn))
            for column, figure, drawn in zip(
                self.columns, self.figures.tolist(), self.draws.T, strict=True
            )
            if not columns or column in columns
        )


def join_trainings(lines: Sequence[Resampled]) -> Resampled:
    """The mean of several trainings (K), as it is in draws of the clips and of trainings.

    Other trainings would have other means. How far they lie apart is known from K of them, so the
    mean moves by its standard error times Student's t of K - 1 degrees: far, if there are two.
    """
    if len(lines) == 1:
        return lines[0]
    each = np.stack([line.figures for line in lines])
    error = each.std(axis=0, ddof=1) / np.sqrt(len(lines))
    of_clips = np.mean([line.draws for line in lines], axis=0)
    moved = _draw_student(len(lines) - 1, len(of_clips))
    return Resampled(lines[0].columns, each.mean(axis=0), of_clips + moved[:, None] * error)


@cache
def _draw_student(degrees: int, count: int) -> Array:
    """Student's t, by quantiles of equal distance: a few plain draws of such tails would err."""
    source = np.random.default_rng(0)
    places = (np.arange(count) + 0.5) / count
    return source.permutation(np.quantile(source.standard_t(degrees, 200_000), places))


def _relate(these: Array, those: Array) -> Array:
    return 100 * np.divide(these, those, out=np.ones_like(these), where=those > 0)


Tested = Mapping[str, Mapping[str, Resampled]]
"""By the titles of tables: the lines that can be compared."""


def measure_claims(claims: Iterable[Claim], tested: Tested) -> tuple[Finding, ...]:
    """Those of which both lines were measured."""
    findings = []
    for claim in claims:
        lines = tested.get(claim.table, {})
        if all(name in lines for pair in claim.pairs for name in pair):
            found = [_compare(claim, lines[better], lines[worse]) for better, worse in claim.pairs]
            measured = join_trainings(found).measure(claim.columns)
            findings.append(Finding(claim.name, measured, claim.asked))
    return tuple(findings)


def _compare(claim: Claim, better: Resampled, worse: Resampled) -> Resampled:
    return better.share_of(worse) if claim.share else better.above(worse)


def decide(claim: Claim, measured: Measured) -> Verdict:
    """By where the interval lies; on the line itself nothing is decided."""
    if measured.low > claim.share:
        return "agrees"
    return "opposite" if measured.high < claim.share else "undecided"


OWN = "not in the paper"
"""Where a line stands that we add beside a claim, such as what chance would reach."""
HEADER = "| the paper says | where | its figures | ours, with the 95% interval | verdict | by |"


class Told(NamedTuple):
    """What a line of the table says of a claim."""

    figures: str
    verdicts: Mapping[tuple[Verdict, str], Sequence[str]]
    """With why, if that has to be said: the columns that came to it."""
    command: str

    def write_verdict(self) -> str:
        """One word where all columns agree in it, else what each column says."""
        if len(self.verdicts) == 1:
            ((verdict, why),) = self.verdicts
            return f"**{verdict}**: {why}" if why else f"**{verdict}**"
        return "; ".join(
            f"**{verdict}**{f' ({why})' if why else ''}: {', '.join(columns)}"
            for (verdict, why), columns in self.verdicts.items()
        )


def list_claims(claims: Sequence[Claim], results: Iterable[Result]) -> Iterator[str]:
    """A table of Markdown with a line for each claim, of an experiment that was run or not."""
    yield HEADER
    yield f"|{' --- |' * 6}"
    for claim, told in _tell_all(claims, results):
        cells = (claim.text, claim.where, claim.paper or "–", told.figures)
        yield f"| {' | '.join((*cells, told.write_verdict(), told.command))} |"


def count_verdicts(claims: Sequence[Claim], results: Iterable[Result]) -> str:
    """A sentence: of so many statements of the paper, how many came to each verdict."""
    found: dict[str, set[Verdict]] = {}
    for claim, told in _tell_all(claims, results):
        if claim.where != OWN:
            verdicts = found.setdefault(claim.part_of or claim.name, set())
            verdicts |= {verdict for verdict, _ in told.verdicts}
    counts = Counter(map(_count_as, found.values()))
    told_counts = ", ".join(
        f"{count} {'agree' if verdict == 'agrees' else verdict}"
        for verdict, count in counts.most_common()
    )
    return f"Of the paper's {len(found)} statements: {told_counts}."


def _count_as(verdicts: set[Verdict]) -> str:
    """A part that was not run has no say, as long as any was."""
    told = verdicts - {"not run"} or verdicts
    return next(iter(told)) if len(told) == 1 else "differ by part or metric"


def _tell_all(claims: Sequence[Claim], results: Iterable[Result]) -> Iterator[tuple[Claim, Told]]:
    found = {result.experiment: result for result in results}
    by_name = {claim.name: claim for claim in claims}
    for claim in claims:
        control = by_name.get(claim.control)
        controlled = _judge_control(control, found.get(control.experiment)) if control else None
        yield claim, _tell(claim, found.get(claim.experiment), controlled)


Controlled = Mapping[str, Verdict]
"""By column, what the control of a claim comes to, where it was measured."""


def _judge_control(control: Claim, result: Result | None) -> Controlled:
    measured = find_measured(control, result) if result else ()
    return {each.column: decide(control, each) for each in measured}


def _tell(claim: Claim, result: Result | None, controlled: Controlled | None) -> Told:
    if not claim.experiment:
        return Told(claim.ours, {(claim.verdict, ""): ()}, f"`{claim.command}`")
    command = f"`experiment {claim.experiment}`"
    if result is None:
        return Told(f"needs {claim.needs}" if claim.needs else "–", NOT_RUN, command)
    command += f", run {result.run}" if result.run else ", no run id"
    measured = find_measured(claim, result)
    if measured:
        table = _find_table(claim, result)
        form, unit = (".1f", "%") if claim.share else (f"+.{table.digits if table else 1}f", "")
        shown = ", ".join(
            f"{each.column} {each.mean:{form}}{unit} ({each.low:{form}} to {each.high:{form}})"
            for each in measured
        )
        return Told(shown, _judge(claim, result, measured, controlled), command)
    figures = _list_figures(claim, result)
    if not figures:
        return Told("–", NOT_RUN, command)
    return Told(figures, {("undecided", NO_INTERVAL): ()}, command)


NOT_RUN: Mapping[tuple[Verdict, str], Sequence[str]] = {("not run", ""): ()}
NO_INTERVAL = "no interval"
CONTROLLED = "the control below agrees too"
NO_CONTROL = "its control has no interval"


def find_measured(claim: Claim, result: Result) -> tuple[Measured, ...]:
    """What the experiment found, if it was asked just that."""
    found = (
        each.measured
        for each in result.outcome.findings
        if (each.claim, each.asked) == (claim.name, claim.asked)
    )
    return next(found, ())


def _judge(
    claim: Claim, result: Result, measured: Sequence[Measured], controlled: Controlled | None
) -> dict[tuple[Verdict, str], list[str]]:
    """By verdict, the columns that came to it."""
    judged: dict[tuple[Verdict, str], list[str]] = {}
    for each in measured:
        verdict, why = decide(claim, each), ""
        if verdict == "agrees" and controlled is not None:
            told = controlled.get(each.column)
            if told is None or told == "agrees":
                verdict, why = "undecided", CONTROLLED if told else NO_CONTROL
        judged.setdefault((verdict, why), []).append(each.column)
    known = {each.column for each in measured}
    if missing := [name for name in _list_columns(claim, result) if name not in known]:
        judged["undecided", NO_INTERVAL] = missing
    return judged


def _find_table(claim: Claim, result: Result) -> Table | None:
    return next((each for each in result.outcome.tables if each.title == claim.table), None)


def _list_columns(claim: Claim, result: Result) -> tuple[str, ...]:
    table = _find_table(claim, result)
    return claim.columns or (table.columns if table else ())


def _list_figures(claim: Claim, result: Result) -> str:
    """Of both rows, where they were measured without an interval."""
    table = _find_table(claim, result)
    lines: dict[str, Line] = {line.name: line for line in table.lines} if table else {}
    pair = [lines.get(name, Line(name)).ours for name in (claim.better, claim.worse)]
    if table is None or not all(pair):
        return ""
    columns = [column for column in table.columns if column in (claim.columns or table.columns)]
    places = [table.columns.index(column) for column in columns]
    better, worse = (" / ".join(f"{ours[n]:.{table.digits}f}" for n in places) for ours in pair)
    if not claim.share:
        return f"{better} against {worse}"
    shares = " / ".join(f"{100 * pair[0][n] / pair[1][n]:.1f}%" for n in places if pair[1][n])
    return f"{shares} ({better} of {worse})"
