"""Several ranked sentences a clip (Table 5), in percent of what oracles would say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from densevidcap.errors import ModelError
from densevidcap.metrics.captions import CaptionScorer
from densevidcap.metrics.dense import PAPER_METRICS, TOPS, Ranked, fill, list_ranks
from densevidcap.repro.candidates import Found, Pair, associate, find_candidates, judge
from densevidcap.repro.definition import Experiment, Row
from densevidcap.repro.results import Figures, Finding, Line, Outcome, Table
from densevidcap.repro.runner import Runner
from densevidcap.repro.single import COLUMNS
from densevidcap.types import Candidates

VALUES = {
    "confidence": "confidence",
    "consensus": "quality",
    "likelihood": "scores",
    "evaluator": "fit",
}
"""Order to what it goes by, the higher the better."""
ORDERS = ("choice", "random", *VALUES)


def rank(said: Candidates, order: str, seed: int) -> list[str]:
    """The sentences that were chosen, the best first."""
    rows = list(range(len(said)))
    if order == "random":
        np.random.default_rng(seed).shuffle(rows)
    elif order != "choice":
        values = getattr(said, VALUES[order])
        rows.sort(key=lambda row: -values[row])
    return [said.sentences[row] for row in rows]


ORACLES = ("osr", "ore")

Rankings = Mapping[str, Ranked]
"""For each metric its own, since an oracle ranks by the metric."""
Precision = Mapping[int, Figures]
"""By how many top sentences: each metric of the paper, in percent."""


def compare_dense(runner: Runner, experiment: Experiment) -> Outcome:
    """Averaged precision of each row's first sentences, and its share of the baseline's."""
    for row in experiment.rows:
        if row.system not in (*ORACLES, *ORDERS):
            raise ModelError(f"{experiment.name}: '{row.name}' has no order '{row.system}'")
    clips = find_candidates(runner)
    rows = experiment.rows
    if not any(found.candidates.fit.any() for found in clips.values()):
        # A model without an evaluator: its rows stay empty.
        rows = tuple(row for row in rows if row.system != "evaluator")
    with CaptionScorer(runner.references) as scorer:
        advance = runner.progress.count("scoring", len(rows))
        precision = {}
        for row in rows:
            precision[row.name] = mean_over_ranks(scorer, _rank(row, clips, scorer))
            advance()
    tables = (_tabulate(experiment, precision, number) for number in range(len(TOPS)))
    return Outcome(
        tuple(chain.from_iterable(tables)),
        tuple(Finding(claim.better, claim.worse) for claim in experiment.claims),
    )


def mean_over_ranks(scorer: CaptionScorer, rankings: Rankings) -> Precision:
    """A corpus score for each rank, averaged over the top ones."""
    by_metric = []
    for metric in PAPER_METRICS:
        filled = {clip: fill(said, max(TOPS)) for clip, said in rankings[metric].items()}
        scores = scorer.score_many(list_ranks(filled))
        by_metric.append([100 * of_rank.overall[metric] for of_rank in scores])
    return {top: tuple(float(np.mean(ranks[:top])) for ranks in by_metric) for top in TOPS}


def _rank(row: Row, clips: Mapping[str, Found], scorer: CaptionScorer) -> Rankings:
    if row.system == "osr":
        return _ask_oracle({clip: found.searched for clip, found in clips.items()}, scorer)
    order = "choice" if row.system == "ore" else row.system
    ranked = {
        clip: rank(found.choose(k=row.said), order, seed)
        for seed, (clip, found) in enumerate(clips.items())
    }
    if row.system == "ore":
        # Each goes with what it was said of: only the order is the oracle's.
        return _ask_oracle({clip: [*enumerate(said)] for clip, said in ranked.items()}, scorer)
    return dict.fromkeys(PAPER_METRICS, ranked)


def _ask_oracle(pairs: Mapping[str, Sequence[Pair]], scorer: CaptionScorer) -> Rankings:
    worth = judge(scorer, {clip: [text for _, text in of_clip] for clip, of_clip in pairs.items()})
    return {
        metric: {
            clip: associate(of_clip, {text: each[metric] for text, each in worth[clip].items()})
            for clip, of_clip in pairs.items()
        }
        for metric in PAPER_METRICS
    }


def _tabulate(
    experiment: Experiment, precision: Mapping[str, Precision], number: int
) -> tuple[Table, Table]:
    """The rows at one of TOPS, and each in percent of the baseline.

    The paper's figures of both tops follow each other in a row.
    """
    top, width = TOPS[number], len(PAPER_METRICS)
    absolute = tuple(
        Line(
            row.name, precision.get(row.name, {}).get(top, ()), row.paper[number * width :][:width]
        )
        for row in experiment.rows
    )
    (base,) = (line for line in absolute if line.name == experiment.about.baseline)
    relative = tuple(
        Line(line.name, _relate(line.ours, base.ours), _relate(line.paper, base.paper))
        for line in absolute
    )
    return (
        Table(f"Averaged precision of the top {top}", COLUMNS, absolute),
        Table(f"The same in percent of {base.name}", COLUMNS, relative),
    )


def _relate(figures: Figures, baseline: Figures) -> Figures:
    """None of a row without figures; nothing is all of nothing."""
    if not figures:
        return ()
    return tuple(
        100 * own / best if best else 100.0 for own, best in zip(figures, baseline, strict=True)
    )
