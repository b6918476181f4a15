"""One sentence a clip (Tables 1 to 4): who says it better."""

from __future__ import annotations

from collections.abc import Mapping

from densevidcap.metrics.bootstrap import bootstrap_difference
from densevidcap.metrics.captions import CaptionScorer, CaptionScores, score_captions
from densevidcap.metrics.dense import PAPER_METRICS
from densevidcap.metrics.report import hold_out
from densevidcap.repro.candidates import say
from densevidcap.repro.definition import Claim, Experiment
from densevidcap.repro.results import Finding, Line, Outcome, Table
from densevidcap.repro.runner import Runner
from densevidcap.repro.words import compare_detection

COLUMNS = ("METEOR", "BLEU@4", "ROUGE-L", "CIDEr")
"""The paper's names of its metrics."""


def compare_single(runner: Runner, experiment: Experiment) -> Outcome:
    """Train what is missing, let each system say its sentences, and score them."""
    systems = [row for row in experiment.rows if row.system]
    said = {row.name: say(runner, row) for row in systems if row.system != "human"}
    runner.progress.count("scoring")
    with CaptionScorer(runner.references) as scorer:
        scores = dict(zip(said, scorer.score_many([*said.values()]), strict=True))
    scores |= {row.name: _score_people(runner) for row in systems if row.system == "human"}
    lines = tuple(
        Line(row.name, _list_figures(scores, row.name), row.paper) for row in experiment.rows
    )
    tables = [Table("", COLUMNS, lines)]
    if any(row.words for row in systems):
        tables.append(compare_detection(runner, experiment))
    return Outcome(tuple(tables), tuple(_check(scores, claim) for claim in experiment.claims))


def _score_people(runner: Runner) -> CaptionScores:
    """A drawn caption of each clip against its others."""
    drawn, others = hold_out(runner.references, 1)
    return score_captions({clip: sentence for clip, (sentence,) in drawn.items()}, others)


def _list_figures(scores: Mapping[str, CaptionScores], name: str) -> tuple[float, ...]:
    if name not in scores:
        return ()
    return tuple(100 * scores[name].overall[metric] for metric in PAPER_METRICS)


def _check(scores: Mapping[str, CaptionScores], claim: Claim) -> Finding:
    if not {claim.better, claim.worse} <= scores.keys():
        return Finding(claim.better, claim.worse)
    worse, better = (
        {clip: each["CIDEr"] for clip, each in scores[name].videos.items()}
        for name in (claim.worse, claim.better)
    )
    mean, low, high = (100 * value for value in bootstrap_difference(worse, better))
    return Finding(claim.better, claim.worse, (mean, low, high))
