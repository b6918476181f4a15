"""What a trained model says of clips that it has not learned from, and what that is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from densevidcap.data.clip import open_clip
from densevidcap.data.failures import naming
from densevidcap.data.lsa import LatentSpace
from densevidcap.data.manifest import ClipRecord
from densevidcap.errors import ClipError
from densevidcap.evaluation.captions import CaptionScorer
from densevidcap.evaluation.dense import PAPER_METRICS
from densevidcap.evaluation.diversity import diversity
from densevidcap.language.choosing import ChoiceOptions
from densevidcap.pipeline.captioner import AnalysisOptions, DenseCaptioner
from densevidcap.pipeline.captions import choose_from
from densevidcap.pipeline.ranking import Judged, Ranking, judge
from densevidcap.rerank.consensus import Consensus

SENTENCES = 10
"""Of each clip, as in the paper's dense tables."""

Said = Mapping[str, Sequence[str]]
"""The sentences of each clip, the best first."""


class Described(NamedTuple):
    """The sentences that are said of a held-out clip, in order of choice, and their worth."""

    sentences: tuple[str, ...]
    judged: Judged

    def rank(self, ranking: Ranking) -> list[str]:
        order = np.argsort(-ranking.rate(self.judged.agreement, self.judged.fit), kind="stable")
        return [self.sentences[place] for place in order]


def describe_clips(
    model: DenseCaptioner, records: Sequence[ClipRecord], advance: Callable[[], None]
) -> dict[str, Described]:
    """Of each clip that can be read; the others were named when the stages read them."""
    consensus = Consensus({record.id: record.captions for record in records})
    described = {}
    for record in records:
        try:
            with naming(record.id):
                clip = open_clip(str(record.source))
                analysis = model.analyse(clip, AnalysisOptions(per_shot=False))
        except ClipError:
            continue
        finally:
            advance()
        (segment,) = analysis.segments
        chosen = [choice.place for choice in choose_from(segment, ChoiceOptions(SENTENCES))]
        sentences = tuple(segment.sentences[place] for place in chosen)
        quality, fit = segment.quality[chosen], segment.fit[chosen]
        judged = judge(sentences, quality, fit, record.id, record.captions, consensus)
        described[record.id] = Described(sentences, judged)
    return described


def measure_difference(said: Said, meaning: LatentSpace) -> dict[str, float]:
    """D_div (Eq. 15) of a clip's sentences, on average."""
    return {"D_div": float(np.mean([diversity(meaning.embed(texts)) for texts in said.values()]))}


def score_first(said: Said, records: Sequence[ClipRecord]) -> dict[str, float]:
    """The paper's metrics of each clip's first sentence, in percent. Needs the extra `eval`."""
    references = {record.id: record.captions for record in records if record.id in said}
    with CaptionScorer(references) as scorer:
        overall = scorer.score({clip: said[clip][0] for clip in references}).overall
    # CIDEr weighs words by how few clips have them: with a single clip it is always 0.
    metrics = [name for name in PAPER_METRICS if name != "CIDEr" or len(references) > 1]
    return {name: 100 * overall[name] for name in metrics}
