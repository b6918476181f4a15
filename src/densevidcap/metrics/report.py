"""Everything that is said of a prediction file: its scores, how dense it is, and beside what."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from densevidcap.data.lsa import LatentSpace
from densevidcap.metrics.bootstrap import Interval, draw_videos
from densevidcap.metrics.captions import METRICS, CaptionScorer, CaptionScores
from densevidcap.metrics.dense import (
    TOPS,
    DenseScores,
    Ranked,
    diversity_at_equal_cider,
    score_dense,
    trace_null_curve,
)


def hold_out(
    references: Mapping[str, Sequence[str]], count: int, seed: int = 0
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """`count` drawn sentences of each video, and the others, which they are measured against."""
    source = random.Random(seed)
    drawn, others = {}, {}
    for video, sentences in references.items():
        if len(sentences) <= count:
            raise ValueError(f"{video} has {len(sentences)} sentences, too few to hold out {count}")
        places = source.sample(range(len(sentences)), count)
        drawn[video] = [sentences[place] for place in places]
        others[video] = [text for place, text in enumerate(sentences) if place not in places]
    return drawn, others


@dataclass(frozen=True)
class DenseReport:
    """Dense scores and what they mean nothing without, since any talk is diverse."""

    count: int
    """Sentences a clip."""
    predicted: DenseScores
    null: dict[int, DenseScores]
    """By the number of sentences that belong to other clips."""
    null_diversity: float
    """D_div of the null curve at the predictions' CIDEr."""
    human: DenseScores | None
    """As many human sentences against the others, where there are more."""


@dataclass(frozen=True)
class Report:
    first: CaptionScores
    """Of each clip's first sentence."""
    dense: DenseReport | None
    difference: dict[str, Interval] | None = None
    """By metric: how far the first sentences lie above others."""


def evaluate(
    ranked: Ranked,
    references: Ranked,
    space: LatentSpace | None = None,
    java: bool = False,
    others: Ranked | None = None,
) -> Report:
    """Score each clip's first sentence and, in a latent space, its sentences together.

    `others` has sentences of another system, whose first ones they are compared with.
    """
    with CaptionScorer(references, java) as scorer:
        said = _list_first(ranked)
        return Report(
            scorer.score(said),
            None if space is None else measure_density(ranked, scorer, space),
            None if others is None else compare_systems(_list_first(others), said, scorer),
        )


def compare_systems(
    a: Mapping[str, str], b: Mapping[str, str], scorer: CaptionScorer
) -> dict[str, Interval]:
    """How far `b` lies above `a` by each metric of the whole set: paired bootstrap over videos."""
    draws = draw_videos(len(scorer.references))
    drawn = [scorer.resample(each, draws) for each in (a, b)]
    of_all = [each.overall for each in scorer.score_many([a, b])]
    return {
        metric: Interval.span(
            of_all[1][metric] - of_all[0][metric], drawn[1][metric] - drawn[0][metric]
        )
        for metric in METRICS
    }


def measure_density(ranked: Ranked, scorer: CaptionScorer, space: LatentSpace) -> DenseReport:
    """Score each clip's sentences together, at most ten, on the scorer's references."""
    count = min(max(TOPS), max(len(sentences) for sentences in ranked.values()))
    predicted = score_dense(ranked, scorer, space, count)
    null = trace_null_curve(_list_first(ranked), scorer, space, count)
    return DenseReport(
        count,
        predicted,
        null,
        diversity_at_equal_cider(predicted, list(null.values())),
        _score_humans(scorer, space, count),
    )


def _list_first(ranked: Ranked) -> dict[str, str]:
    return {clip: sentences[0] for clip, sentences in ranked.items()}


def _score_humans(scorer: CaptionScorer, space: LatentSpace, count: int) -> DenseScores | None:
    if min(len(sentences) for sentences in scorer.references.values()) <= count:
        return None
    drawn, others = hold_out(scorer.references, count)
    with CaptionScorer(others, scorer.java) as among_humans:
        return score_dense(drawn, among_humans, space, count)
