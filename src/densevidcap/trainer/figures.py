"""What a trained model says of clips that it has not learned from, and what that is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from densevidcap.data.lsa import LatentSpace
from densevidcap.data.manifest import ClipRecord
from densevidcap.errors import ClipError
from densevidcap.evaluation.captions import CaptionScorer
from densevidcap.evaluation.dense import PAPER_METRICS
from densevidcap.evaluation.diversity import diversity
from densevidcap.pipeline.captioner import AnalysisOptions, DenseCaptioner

SENTENCES = 10
"""Of each clip, as in the paper's dense tables."""

Said = Mapping[str, Sequence[str]]
"""The sentences of each clip, the best first."""


def describe_clips(
    model: DenseCaptioner, records: Sequence[ClipRecord], advance: Callable[[], None]
) -> Said:
    """Of each clip that can be read; the others were named when the stages read them."""
    said = {}
    options = AnalysisOptions(per_shot=False)
    for record in records:
        try:
            captions = model.caption(str(record.source), k=SENTENCES, options=options)
        except ClipError:
            continue
        finally:
            advance()
        said[record.id] = [caption.text for caption in captions]
    return said


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
