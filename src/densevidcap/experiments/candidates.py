"""All that the given model finds for each measured clip, found once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from densevidcap.artefacts import write_json
from densevidcap.data.text_files import read_json
from densevidcap.experiments.bench import Bench
from densevidcap.experiments.oracle import Pair
from densevidcap.language.beams import BeamOptions
from densevidcap.language.choosing import ChoiceOptions, choose
from densevidcap.language.draws import DrawOptions
from densevidcap.language.views import ClipView
from densevidcap.pipeline.candidates import keep_best
from densevidcap.pipeline.captioner import DEFAULT_OPTIONS, DenseCaptioner
from densevidcap.pipeline.confidence import rate


@dataclass(frozen=True)
class Found:
    """S different sentences of a clip with K region-sequences."""

    searched: Sequence[Pair]
    """What beams found for each sequence."""
    sentences: Sequence[str]
    """(S,): the best of all, drawn ones too, to choose from."""
    quality: Sequence[float]
    """(S,): how well each agrees with all."""
    likelihood: Sequence[float]
    """(S,): log P(sentence | its sequence) after the length penalty."""
    evaluation: Sequence[float]
    """(S,): by the evaluator alone; empty if the model has none."""
    confidence: Sequence[float]
    """(S,): what the model itself ranks by."""
    meanings: Sequence[Sequence[float]]
    """(S, D)"""
    likelihoods: Sequence[Sequence[float]]
    """(S, K): log P(sentence | sequence)."""

    def choose(self, options: ChoiceOptions) -> list[int]:
        """Places of the sentences that are said, in order of choice."""
        chosen = choose(
            self.sentences,
            np.array(self.quality),
            np.array(self.meanings),
            np.array(self.likelihoods),
            options,
        )
        return [choice.place for choice in chosen]


def find_candidates(bench: Bench) -> dict[str, Found]:
    """Read from the folder of runs, or found and written there."""
    model = DenseCaptioner.load(bench.places.model)
    path = bench.keep("candidates", model.version)
    if not path.exists():
        views = bench.view(bench.places.model / "sentences", bench.find_words())
        bench.watcher.start("finding candidates", len(views))
        found = {}
        for clip, view in views.items():
            found[clip] = asdict(_find(model, view))
            bench.watcher.advance()
        write_json(path, found)
    return _load(path)


def _find(model: DenseCaptioner, view: ClipView) -> Found:
    """As the pipeline does it, with its settings."""
    describer, options = model.describer, DEFAULT_OPTIONS
    beams, draws = BeamOptions(options.beam), DrawOptions(options.draws, seed=options.seed)
    kept, agreement = keep_best(
        describer.propose(view, beams, draws), describer, options.candidates
    )
    sentences = [describer.say(each.words) for each in kept]
    sequences = [each.sequence for each in kept]
    evaluator = model.evaluator
    return Found(
        [(each.sequence, describer.say(each.words)) for each in describer.propose(view, beams)],
        sentences,
        agreement.tolist(),
        [each.score for each in kept],
        [] if evaluator is None else evaluator.score(view, sentences, sequences).tolist(),
        rate(evaluator, view, sentences, agreement).tolist(),
        describer.place(kept).tolist(),
        describer.compare(view, [each.words for each in kept]).tolist(),
    )


def _load(path: Path) -> dict[str, Found]:
    return {clip: Found(**content) for clip, content in read_json(path).items()}
