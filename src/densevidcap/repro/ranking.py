"""How well evaluators rank the sentences of a clip, by how many clips they learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from densevidcap.errors import ModelError
from densevidcap.metrics.bootstrap import draw_videos
from densevidcap.metrics.captions import CaptionScorer
from densevidcap.metrics.dense import PAPER_METRICS, TOPS
from densevidcap.repro.candidates import find_candidates
from densevidcap.repro.claims import Resampled, measure_claims
from densevidcap.repro.definition import Claim, Experiment, Row
from densevidcap.repro.dense import (
    LEARNED,
    VALUES,
    Rankings,
    ask_oracle,
    count_clips,
    mean_over_ranks,
    name_top,
    rank,
    rank_by_learned,
)
from densevidcap.repro.results import Curve, Line, Outcome, Picture, Table
from densevidcap.repro.runner import Runner
from densevidcap.repro.single import COLUMNS, INTERVALS
from densevidcap.types import Candidates

RANDOM, ORACLE = "random", "ore"
"""Rows that an experiment has: all others are between them."""
WAY = "Percent of the way from random to the oracle"
TOP = TOPS[0]


def compare_rankings(runner: Runner, experiment: Experiment, claims: Sequence[Claim]) -> Outcome:
    """Averaged precision of the first of each clip's sentences, as each row orders them."""
    rows = {row.name: row for row in experiment.rows}
    ends = {row.system: row.name for row in experiment.rows if row.system in (RANDOM, ORACLE)}
    if len(ends) < 2:
        raise ModelError(f"{experiment.name}: needs a row '{RANDOM}' and a row '{ORACLE}'")
    for row in experiment.rows:
        if row.system not in (RANDOM, ORACLE, *LEARNED, *VALUES):
            raise ModelError(f"{experiment.name}: '{row.name}' has no order '{row.system}'")
    said = {clip: found.choose(k=10) for clip, found in find_candidates(runner).items()}
    if not any(each.fit.any() for each in said.values()):
        # A model without an evaluator: its rows stay empty.
        rows = {name: row for name, row in rows.items() if row.system != "evaluator"}
    draws = draw_videos(len(said))
    with CaptionScorer(runner.references) as scorer:
        lines = {
            name: mean_over_ranks(scorer, _rank(runner, row, said, scorer), draws)[TOP]
            for name, row in rows.items()
        }
    low, high = (lines[ends[end]] for end in (RANDOM, ORACLE))
    ways = {name: line.above(low).share_of(high.above(low)) for name, line in lines.items()}
    title = name_top(TOP)
    tables = (
        _tabulate(title, lines),
        _tabulate(WAY, ways),
        Table(INTERVALS, COLUMNS, tuple(_halve(name, way) for name, way in ways.items())),
    )
    counts = {name: count_clips(runner, row) for name, row in rows.items()}
    curves = []
    for kind in LEARNED:
        points = sorted(
            (float(counts[name]), float(ways[name].figures[-1]))
            for name, row in rows.items()
            if row.system == kind
        )
        if points:
            x, y = zip(*points, strict=True)
            curves.append(Curve(kind, x, y))
    what = f"Ranking ten sentences: {COLUMNS[-1]} of the first {TOP}"
    axes = ("clips learned from", "% from random to the oracle")
    picture = Picture(f"{experiment.name}-curve", what, *axes, tuple(curves))
    return Outcome(tables, measure_claims(claims, {title: lines}), (picture,))


def _tabulate(title: str, lines: Mapping[str, Resampled]) -> Table:
    told = (Line(name, tuple(line.figures.tolist())) for name, line in lines.items())
    return Table(title, COLUMNS, tuple(told))


def _halve(name: str, line: Resampled) -> Line:
    return Line(name, tuple((each.high - each.low) / 2 for each in line.measure()))


def _rank(
    runner: Runner, row: Row, said: Mapping[str, Candidates], scorer: CaptionScorer
) -> Rankings:
    if row.system == ORACLE:
        return ask_oracle({c: [*enumerate(each.sentences)] for c, each in said.items()}, scorer)
    if row.system in LEARNED:
        ranked = rank_by_learned(runner, row, said)
    else:
        ranked = {
            clip: rank(each, row.system, seed) for seed, (clip, each) in enumerate(said.items())
        }
    return dict.fromkeys(PAPER_METRICS, ranked)
