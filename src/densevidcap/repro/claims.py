"""What becomes of the paper's claims: measured with intervals, judged by them, and listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

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


def _relate(these: Array, those: Array) -> Array:
    return 100 * np.divide(these, those, out=np.ones_like(these), where=those > 0)


Tested = Mapping[str, Mapping[str, Resampled]]
"""By the titles of tables: the lines that can be compared."""


def measure_claims(claims: Iterable[Claim], tested: Tested) -> tuple[Finding, ...]:
    """Those of which both lines were measured."""
    findings = []
    for claim in claims:
        lines = tested.get(claim.table, {})
        if claim.better in lines and claim.worse in lines:
            better, worse = lines[claim.better], lines[claim.worse]
            compared = better.share_of(worse) if claim.share else better.above(worse)
            findings.append(Finding(claim.name, compared.measure(claim.columns)))
    return tuple(findings)


def decide(claim: Claim, measured: Measured) -> Verdict:
    """By where the interval lies; on the line itself nothing is decided."""
    if measured.low > claim.share:
        return "agrees"
    return "opposite" if measured.high < claim.share else "undecided"


OWN = "not in the paper"
"""Where a line stands that we add beside a claim, such as what chance would reach."""
HEADER = "| the paper says | where | its figures | ours, with the 95% interval | verdict | by |"


def list_claims(claims: Sequence[Claim], results: Iterable[Result]) -> Iterator[str]:
    """A table of Markdown with a line for each claim, of an experiment that was run or not."""
    found = {result.experiment: result for result in results}
    yield HEADER
    yield f"|{' --- |' * 6}"
    for claim in claims:
        cells = _tell(claim, found.get(claim.experiment))
        yield f"| {' | '.join((claim.text, claim.where, claim.paper or '–', *cells))} |"


def count_verdicts(claims: Sequence[Claim], results: Iterable[Result]) -> str:
    """A sentence: of so many claims of the paper, how many came to each verdict."""
    found = {result.experiment: result for result in results}
    counts: Counter[str] = Counter()
    claims = [claim for claim in claims if claim.where != OWN]
    for claim in claims:
        verdict = _tell(claim, found.get(claim.experiment))[1]
        named = [each for each in get_args(Verdict) if f"**{each}**" in verdict]
        counts[named[0] if len(named) == 1 else "differ by metric"] += 1
    told = ", ".join(
        f"{count} {'agree' if verdict == 'agrees' else verdict}"
        for verdict, count in counts.most_common()
    )
    return f"Of the paper's {len(claims)} claims: {told}."


def _tell(claim: Claim, result: Result | None) -> tuple[str, str, str]:
    """Our figures, the verdict, and the command."""
    if not claim.experiment:
        return claim.ours, f"**{claim.verdict}**", f"`{claim.command}`"
    command = f"`experiment {claim.experiment}`"
    if result is None:
        return f"needs {claim.needs}" if claim.needs else "–", "**not run**", command
    command += f", run {result.run}" if result.run else ", no run id"
    measured = find_measured(claim, result)
    if measured:
        table = _find_table(claim, result)
        form, unit = (".1f", "%") if claim.share else (f"+.{table.digits if table else 1}f", "")
        shown = ", ".join(
            f"{each.column} {each.mean:{form}}{unit} ({each.low:{form}} to {each.high:{form}})"
            for each in measured
        )
        return shown, _join_verdicts(claim, measured, _list_columns(claim, result)), command
    figures = _list_figures(claim, result)
    if not figures:
        return "–", "**not run**", command
    return figures, "**undecided**: no interval", command


def find_measured(claim: Claim, result: Result) -> tuple[Measured, ...]:
    found = (each.measured for each in result.outcome.findings if each.claim == claim.name)
    return next(found, ())


def _join_verdicts(claim: Claim, measured: Sequence[Measured], columns: Sequence[str]) -> str:
    """One word where all columns agree in it, else what each column says."""
    by_verdict: dict[str, list[str]] = {}
    for each in measured:
        by_verdict.setdefault(decide(claim, each), []).append(each.column)
    known = {each.column for each in measured}
    if missing := [column for column in columns if column not in known]:
        by_verdict["no interval"] = missing
    if len(by_verdict) == 1:
        return f"**{next(iter(by_verdict))}**"
    return "; ".join(f"**{verdict}**: {', '.join(names)}" for verdict, names in by_verdict.items())


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
