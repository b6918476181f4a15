"""Several ranked sentences a clip (Table 5), in percent of what oracles would say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import chain

import numpy as np

from densevidcap.errors import ModelError
from densevidcap.metrics.bootstrap import draw_videos
from densevidcap.metrics.captions import CaptionScorer
from densevidcap.metrics.dense import PAPER_METRICS, TOPS, Ranked, fill, list_ranks
from densevidcap.models.evaluator import load_evaluator
from densevidcap.repro.candidates import Found, Pair, associate, find_candidates, judge
from densevidcap.repro.claims import Array, Resampled, measure_claims
from densevidcap.repro.definition import Claim, Experiment, Row
from densevidcap.repro.results import Figures, Line, Outcome, Table
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
LEARNED = ("network", "regression")
"""Kinds of evaluators that are trained here, on a share of the clips."""
ORDERS = ("choice", "random", *VALUES, *LEARNED)


def rank(said: Candidates, order: str, seed: int) -> list[str]:
    """The sentences that were chosen, the best first."""
    rows = list(range(len(said)))
    if order == "random":
        np.random.default_rng(seed).shuffle(rows)
    elif order != "choice":
        values = getattr(said, VALUES[order])
        rows.sort(key=lambda row: -values[row])
    return [said.sentences[row] for row in rows]


def count_clips(runner: Runner, row: Row) -> int:
    return max(1, round(row.share * len(runner.trained)))


def rank_by_learned(
    runner: Runner, row: Row, said: Mapping[str, Candidates]
) -> dict[str, list[str]]:
    """By an evaluator that learned from a share of the clips, drawn by their names."""
    drawn = sorted(runner.trained, key=lambda record: sha256(record.id.encode()).digest())
    count = count_clips(runner, row)
    part = runner.find_part(f"{count}-clips", (*drawn[:count], *runner.clips))
    folder = runner.find_ranker(row.system, count, part)
    runner.identify(folder)
    evaluator = load_evaluator(folder)
    views = runner.view(folder, runner.find_words())
    ranked = {}
    for clip, candidates in said.items():
        scores = evaluator.score(views[clip], candidates.sentences)
        order = np.argsort(-scores, kind="stable")
        ranked[clip] = [candidates.sentences[place] for place in order]
    return ranked


ORACLES = ("osr", "ore", "beams")
"""What it is told: which words regions are searched for (Eq. 10) and the order; the order alone; or
which of the sentences that beams find goes with which sequence, and the order."""

Rankings = Mapping[str, Ranked]
"""For each metric its own, since an oracle ranks by the metric."""
Precision = Mapping[int, Resampled]
"""By how many top sentences: each metric of the paper, in percent."""


def compare_dense(runner: Runner, experiment: Experiment, claims: Sequence[Claim]) -> Outcome:
    """Averaged precision of each row's first sentences, and its share of the baseline's."""
    for row in experiment.rows:
        if row.system not in (*ORACLES, *ORDERS):
            raise ModelError(f"{experiment.name}: '{row.name}' has no order '{row.system}'")
    clips = find_candidates(runner)
    rows = experiment.rows
    if not any(found.candidates.fit.any() for found in clips.values()):
        # A model without an evaluator: its rows stay empty.
        rows = tuple(row for row in rows if row.system != "evaluator")
    told = find_candidates(runner, told=True) if any(row.system == "osr" for row in rows) else {}
    learned = {
        row.name: rank_by_learned(runner, row, _choose(row, clips))
        for row in rows
        if row.system in LEARNED
    }
    draws = draw_videos(len(clips))
    with CaptionScorer(runner.references) as scorer:
        advance = runner.progress.count("scoring", len(rows))
        precision = {}
        for row in rows:
            if row.name in learned:
                rankings: Rankings = dict.fromkeys(PAPER_METRICS, learned[row.name])
            else:
                rankings = _rank(row, told if row.system == "osr" else clips, scorer)
            precision[row.name] = mean_over_ranks(scorer, rankings, draws)
            advance()
    tables = (_tabulate(experiment, precision, number) for number in range(len(TOPS)))
    tested = {
        name_top(top): {name: by_top[top] for name, by_top in precision.items()} for top in TOPS
    }
    return Outcome(tuple(chain.from_iterable(tables)), measure_claims(claims, tested))


def name_top(top: int) -> str:
    return f"Averaged precision of the top {top}"


def mean_over_ranks(scorer: CaptionScorer, rankings: Rankings, draws: Array) -> Precision:
    """A corpus score for each rank, averaged over the top ones; and of draws of the clips."""
    # The clips as they are come first.
    weights = np.concatenate([np.ones((1, draws.shape[1])), draws])
    by_metric = []
    for metric in PAPER_METRICS:
        filled = {clip: fill(said, max(TOPS)) for clip, said in rankings[metric].items()}
        ranks = (scorer.resample(rank, weights)[metric] for rank in list_ranks(filled))
        by_metric.append(100 * np.stack([*ranks]))
    means = {top: np.stack([ranks[:top].mean(axis=0) for ranks in by_metric], 1) for top in TOPS}
    return {top: Resampled(COLUMNS, each[0], each[1:]) for top, each in means.items()}


def _choose(row: Row, clips: Mapping[str, Found]) -> dict[str, Candidates]:
    return {clip: found.choose(k=row.said) for clip, found in clips.items()}


def _rank(row: Row, clips: Mapping[str, Found], scorer: CaptionScorer) -> Rankings:
    if row.system == "beams":
        return ask_oracle({clip: found.searched for clip, found in clips.items()}, scorer)
    order = "choice" if row.system in ORACLES else row.system
    ranked = {
        clip: rank(said, order, seed)
        for seed, (clip, said) in enumerate(_choose(row, clips).items())
    }
    if row.system in ORACLES:
        # Each goes with what it was said of: only the order is the oracle's.
        return ask_oracle({clip: [*enumerate(said)] for clip, said in ranked.items()}, scorer)
    return dict.fromkeys(PAPER_METRICS, ranked)


def ask_oracle(pairs: Mapping[str, Sequence[Pair]], scorer: CaptionScorer) -> Rankings:
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
            row.name,
            tuple(precision[row.name][top].figures.tolist()) if row.name in precision else (),
            row.paper[number * width :][:width],
        )
        for row in experiment.rows
    )
    (base,) = (line for line in absolute if line.name == experiment.about.baseline)
    relative = tuple(
        Line(line.name, _relate(line.ours, base.ours), _relate(line.paper, base.paper))
        for line in absolute
    )
    return (
        Table(name_top(top), COLUMNS, absolute),
        Table(f"The same in percent of {base.name}", COLUMNS, relative),
    )


def _relate(figures: Figures, baseline: Figures) -> Figures:
    """None of a row without figures; nothing is all of nothing."""
    if not figures:
        return ()
    return tuple(
        100 * own / best if best else 100.0 for own, best in zip(figures, baseline, strict=True)
    )
