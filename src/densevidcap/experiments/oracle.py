"""What could be said at best: oracles that look at the references (Sec. 4.3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from densevidcap.evaluation.captions import CaptionScorer
from densevidcap.evaluation.dense import Ranked, fill, list_ranks

Pair = tuple[int, str]
"""A region-sequence and a sentence that was found for it."""
Worth = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Clip, sentence and metric to the sentence's own score."""


def judge(scorer: CaptionScorer, sentences: Ranked) -> Worth:
    """Every sentence against the references of its clip."""
    different = {clip: [*dict.fromkeys(of_clip)] for clip, of_clip in sentences.items()}
    depth = max(map(len, different.values()))
    filled = {clip: fill(of_clip, depth) for clip, of_clip in different.items()}
    by_rank = scorer.score_many(list_ranks(filled))
    return {
        clip: {
            sentence: scores.videos[clip] for sentence, scores in zip(of_clip, by_rank, strict=True)
        }
        for clip, of_clip in filled.items()
    }


def associate(pairs: Sequence[Pair], worth: Mapping[str, float]) -> list[str]:
    """For each region-sequence the sentence that is worth most (OSR), the best first (ORE).

    The best pairs are made first, and no sentence is given twice: ten sequences
    that share one good sentence do not say ten good ones.
    """
    given: dict[int, str] = {}
    for sequence, sentence in sorted(pairs, key=lambda pair: -worth[pair[1]]):
        if sequence not in given and sentence not in given.values():
            given[sequence] = sentence
    return list(given.values())
