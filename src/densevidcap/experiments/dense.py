"""Several ranked sentences a clip (Table 5), in percent of what oracles would say."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np

from densevidcap.errors import ModelError
from densevidcap.evaluation.captions import CaptionScorer
from densevidcap.evaluation.dense import PAPER_METRICS, TOPS, Ranked, fill, list_ranks
from densevidcap.experiments.bench import Bench
from densevidcap.experiments.candidates import choose_sentences, find_candidates
from densevidcap.experiments.definition import Experiment
from densevidcap.experiments.oracle import associate, judge, rank_by_worth
from densevidcap.experiments.orders import ORDERS, Scene, rank
from densevidcap.experiments.results import Figures, Finding, Line, Outcome, Table
from densevidcap.experiments.single import COLUMNS
from densevidcap.language.choosing import ChoiceOptions
from densevidcap.language.describer import Describer
from densevidcap.rerank.evaluator import Evaluator

ORACLES = ("osr", "ore")

Rankings = Mapping[str, Ranked]
"""For each metric its own, since an oracle ranks by the metric."""
Precision = Mapping[int, tuple[float, ...]]
"""By how many top sentences: each metric of the paper, in percent."""


def compare_dense(bench: Bench, experiment: Experiment) -> Outcome:
    """Averaged precision of each row's first sentences, and its share of the baseline's."""
    for row in experiment.rows:
        if row.system not in (*ORACLES, *ORDERS):
            raise ModelError(f"{experiment.name}: '{row.name}' has no order '{row.system}'")
    describer = Describer.load(bench.captioner)
    clips = _describe(bench, describer, max(row.said for row in experiment.rows))
    with CaptionScorer(bench.references) as scorer:
        bench.watcher.start("scoring", len(experiment.rows))
        precision = {}
        for row in experiment.rows:
            said = {clip: scene.say(row.said) for clip, scene in clips.items()}
            rankings = _rank(row.system, scorer, said)
            precision[row.name] = average_precision(scorer, rankings)
            bench.watcher.advance()
    tables = [_tabulate(experiment, precision, number) for number in range(len(TOPS))]
    return Outcome(
        tuple(chain.from_iterable(tables)),
        tuple(Finding(one.better, one.worse) for one in experiment.claims),
    )


def average_precision(scorer: CaptionScorer, rankings: Rankings) -> Precision:
    """A corpus score for each rank, averaged over the top ones."""
    by_metric = []
    for metric in PAPER_METRICS:
        filled = {clip: fill(said, max(TOPS)) for clip, said in rankings[metric].items()}
        scores = scorer.score_many(list_ranks(filled))
        by_metric.append([100 * of_rank.overall[metric] for of_rank in scores])
    return {top: tuple(float(np.mean(ranks[:top])) for ranks in by_metric) for top in TOPS}


def _describe(bench: Bench, describer: Describer, count: int) -> dict[str, Scene]:
    """So many sentences of each clip, and all that they were chosen from."""
    evaluator = Evaluator.load(bench.places.model / "evaluator")
    found = find_candidates(bench, describer)
    views = bench.view(bench.captioner, bench.find_words())
    bench.watcher.start("choosing sentences", len(found))
    scenes = {}
    for number, (clip, candidates) in enumerate(found.items()):
        said = choose_sentences(describer, candidates.pool, ChoiceOptions(k=count))
        scenes[clip] = Scene(number, views[clip], candidates, said, describer, evaluator)
        bench.watcher.advance()
    return scenes


def _rank(system: str, scorer: CaptionScorer, scenes: Mapping[str, Scene]) -> Rankings:
    if system in ORACLES:
        return _ask_oracle(system, scorer, scenes)
    ranked = {clip: rank(scene, system) for clip, scene in scenes.items()}
    return dict.fromkeys(PAPER_METRICS, ranked)


def _ask_oracle(oracle: str, scorer: CaptionScorer, scenes: Mapping[str, Scene]) -> Rankings:
    """OSR + ORE of what the beams found for each sequence, or ORE of what is said."""
    pairs = {
        clip: scene.pair(scene.found.searched if oracle == "osr" else scene.said)
        for clip, scene in scenes.items()
    }
    worth = judge(scorer, {clip: [text for _, text in found] for clip, found in pairs.items()})
    order = associate if oracle == "osr" else rank_by_worth
    return {
        metric: {
            clip: order(found, {text: scores[metric] for text, scores in worth[clip].items()})
            for clip, found in pairs.items()
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
    printed = {row.name: row.paper[number * width :][:width] for row in experiment.rows}
    ours = {row.name: precision[row.name][top] for row in experiment.rows}
    baseline = experiment.about.baseline

    def line(name: str, share: bool) -> Line:
        if not share:
            return Line(name, ours[name], printed[name])
        return Line(
            name, _relate(ours[name], ours[baseline]), _relate(printed[name], printed[baseline])
        )

    absolute, relative = (
        tuple(line(row.name, share) for row in experiment.rows) for share in (False, True)
    )
    return (
        Table(f"Averaged precision of the top {top}", COLUMNS, absolute),
        Table(f"The same in percent of {baseline}", COLUMNS, relative),
    )


def _relate(figures: Figures, baseline: Figures) -> Figures:
    """None of a row without figures; nothing is all of nothing."""
    if not figures:
        return ()
    return tuple(
        100 * own / best if best else 100.0 for own, best in zip(figures, baseline, strict=True)
    )
