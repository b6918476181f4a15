"""All that the given model finds for each measured clip, found once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from densevidcap.artefacts import write_json
from densevidcap.data.text_files import read_json
from densevidcap.experiments.bench import Bench
from densevidcap.experiments.oracle import Pair
from densevidcap.language.beams import BeamOptions
from densevidcap.language.choosing import ChoiceOptions, choose
from densevidcap.language.views import ClipView
from densevidcap.pipeline.captioner import DEFAULT_OPTIONS, DenseCaptioner
from densevidcap.pipeline.ranking import Ranking


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
    fit: Sequence[float]
    """(S,): by the evaluator; zeros if the model has none."""
    meanings: Sequence[Sequence[float]]
    """(S, D)"""
    affinities: Sequence[Sequence[float]]
    """(S, K): how much more of a sentence a sequence has than the others."""
    confidence: Sequence[float]
    """(S,): what the model itself ranks by."""

    def choose(self, options: ChoiceOptions) -> list[int]:
        """Places of the sentences that are said, in order of choice."""
        chosen = choose(
            self.sentences,
            np.array(self.quality),
            np.array(self.meanings),
            np.array(self.affinities),
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
        kept = {}
        for clip, view in views.items():
            kept[clip] = _find(model, view)
            bench.watcher.advance()
        write_json(path, kept)
    return {clip: _rate(model.ranking, content) for clip, content in read_json(path).items()}


def _find(model: DenseCaptioner, view: ClipView) -> dict[str, Any]:
    """What is kept of a clip: all but confidence. Found as the pipeline does, by its settings."""
    describer = model.describer
    searched = describer.propose(view, BeamOptions(DEFAULT_OPTIONS.beam))
    short = model.shortlist(view)
    return {
        "searched": [(each.sequence, describer.say(each.words)) for each in searched],
        "sentences": short.sentences,
        "quality": short.quality.tolist(),
        "likelihood": [each.score for each in short.candidates],
        "fit": short.fit.tolist(),
        "meanings": short.meanings.tolist(),
        "affinities": short.affinities.tolist(),
    }


def _rate(ranking: Ranking, content: dict[str, Any]) -> Found:
    quality, fit = (np.array(content[name], np.float32) for name in ("quality", "fit"))
    return Found(**content, confidence=ranking.rate(quality, fit).tolist())
