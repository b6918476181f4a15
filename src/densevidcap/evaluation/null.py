"""The null curve: how diverse one gets by talking about other clips."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np

from densevidcap.data.lsa import LatentSpace
from densevidcap.evaluation.captions import CaptionScorer
from densevidcap.evaluation.dense import TOPS, DenseScores, score_dense

STRANGERS = (0, 2, 4, 6, 8)
"""How many of ten sentences belong to other clips, point by point."""


def mix_strangers(
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
            mix_strangers(sentences, strangers, count, seed), scorer, space, count
        )
        for strangers in STRANGERS
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
