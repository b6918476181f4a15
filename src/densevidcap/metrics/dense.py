"""The dense protocol: how good and how different several ranked sentences of a clip are."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from densevidcap.data.lsa import LatentSpace
from densevidcap.metrics.captions import CaptionScorer, CaptionScores
from densevidcap.metrics.content import ContentWords, compare_content
from densevidcap.metrics.diversity import diversity

Ranked = Mapping[str, Sequence[str]]
"""The sentences of each clip, the best first."""
Scores = Mapping[str, float]
"""A value of each of the paper's metrics."""

PAPER_METRICS = ("METEOR", "Bleu_4", "ROUGE_L", "CIDEr")
"""Those of its tables."""
TOPS = (5, 10)
"""Of how many sentences the paper averages the precision."""


@dataclass(frozen=True)
class DenseScores:
    """Of k sentences a clip. Those named by a number are of that many top sentences."""

    precision: Mapping[int, Scores]
    """The paper's averaged precision (Table 5): a corpus score for each rank, averaged over ranks.

    Only this reading gives figures like the paper's: the mean of single
    sentences' scores has a much lower BLEU."""
    oracle: Mapping[int, Scores]
    """The same with all sentences of a clip sorted by their own score (ORE), metric by metric.

    An upper bound of means. Corpus BLEU is none: the worst ranks of a sorted list
    can cost it more than the best ones give."""
    single: Mapping[int, Scores]
    """The mean of the single sentences' scores."""
    best: Scores
    """Corpus score of each clip's best sentence, metric by metric: best of k."""
    different: float
    """Different sentences among a clip's k, on average."""
    diversity: float
    """D_div (Eq. 15) of a clip's k sentences, on average."""
    content: ContentWords


def score_dense(
    ranked: Ranked, scorer: CaptionScorer, space: LatentSpace, count: int = max(TOPS)
) -> DenseScores:
    """Score the first `count` sentences of each clip, on the references that the scorer holds.

    Only the oracle looks at more of them. Who has fewer says them again, from
    the first on, so that saying little is not taken for saying different things.
    """
    depth = max(count, *(len(sentences) for sentences in ranked.values()))
    candidates = {clip: fill(sentences, depth) for clip, sentences in ranked.items()}
    by_rank = scorer.score_many(list_ranks(candidates))
    by_oracle = {
        metric: scorer.score_many(list_ranks(_sort(candidates, by_rank, metric))[:count])
        for metric in PAPER_METRICS
    }
    chosen = {clip: sentences[:count] for clip, sentences in candidates.items()}
    best = {metric: list_ranks(_sort(chosen, by_rank, metric))[0] for metric in PAPER_METRICS}
    vectors = space.embed(chain.from_iterable(chosen.values())).reshape(len(chosen), count, -1)
    tops = sorted({min(top, count) for top in TOPS})
    return DenseScores(
        precision=_average(tops, lambda metric, rank: by_rank[rank].overall[metric]),
        oracle=_average(tops, lambda metric, rank: by_oracle[metric][rank].overall[metric]),
        single=_average(tops, lambda metric, rank: _mean_of_clips(by_rank[rank], metric)),
        best={metric: scorer.score(said).overall[metric] for metric, said in best.items()},
        different=_mean([len(set(sentences)) for sentences in chosen.values()]),
        diversity=_mean([diversity(of_clip) for of_clip in vectors]),
        content=compare_content(chosen, scorer.references),
    )


def fill(sentences: Sequence[str], count: int) -> list[str]:
    """The first `count` sentences, said again from the first on where there are fewer."""
    return [sentences[place % len(sentences)] for place in range(count)]


def list_ranks(filled: Ranked) -> list[dict[str, str]]:
    """The first sentences of all clips, the second ones, and so on; all clips have as many."""
    clips = list(filled)
    return [dict(zip(clips, rank, strict=True)) for rank in zip(*filled.values(), strict=True)]


def _sort(filled: Ranked, by_rank: Sequence[CaptionScores], metric: str) -> Ranked:
    """The oracle's ranking (ORE)."""
    return {
        clip: [
            sentences[rank]
            for rank in sorted(
                range(len(sentences)), key=lambda rank: -by_rank[rank].videos[clip][metric]
            )
        ]
        for clip, sentences in filled.items()
    }


def _average(
    tops: Sequence[int], score: Callable[[str, int], float]
) -> dict[int, dict[str, float]]:
    return {
        top: {
            metric: _mean([score(metric, rank) for rank in range(top)]) for metric in PAPER_METRICS
        }
        for top in tops
    }


def _mean_of_clips(scores: CaptionScores, metric: str) -> float:
    return _mean([of_clip[metric] for of_clip in scores.videos.values()])


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


OTHER_CLIPS = (0, 2, 4, 6, 8)
"""How many of ten sentences belong to other clips, point by point."""


def mix_other_clips(
    sentences: Mapping[str, str], strangers: int, count: int = max(TOPS), seed: int = 0
) -> dict[str, list[str]]:
    """`count` sentences of each clip: its own, repeated, and last those of random other clips.

    With the same seed, more strangers are added to those of fewer.
    """
    source = random.Random(seed)
    clips = list(sentences)
    mixed = {}
    for clip, own in sentences.items():
        others = [other for other in source.sample(clips, min(len(clips), count)) if other != clip]
        added = [sentences[other] for other in others[:strangers]]
        mixed[clip] = [own] * (count - len(added)) + added
    return mixed


def trace_null_curve(
    sentences: Mapping[str, str],
    scorer: CaptionScorer,
    space: LatentSpace,
    count: int = max(TOPS),
    seed: int = 0,
) -> dict[int, DenseScores]:
    """Dense scores by the number of strangers.

    `sentences` holds the one sentence that a plain captioner says of each clip.
    A dense result counts by how far it lies above this curve.
    """
    return {
        strangers: score_dense(
            mix_other_clips(sentences, strangers, count, seed), scorer, space, count
        )
        for strangers in OTHER_CLIPS
        if strangers < count
    }


def diversity_at_equal_cider(scores: DenseScores, null: Sequence[DenseScores]) -> float:
    """D_div of the null curve where its CIDEr over all k sentences is that of `scores`.

    Between points it is interpolated; beyond the curve's ends, that of the end.
    """
    top = max(scores.precision)
    points = sorted((point.precision[top]["CIDEr"], point.diversity) for point in null)
    ciders, diversities = zip(*points, strict=True)
    return float(np.interp(scores.precision[top]["CIDEr"], ciders, diversities))
