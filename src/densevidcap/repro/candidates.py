"""The one sentence that a system says of each measured clip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from densevidcap.data.text_files import read_json
from densevidcap.decoding.generate import BeamOptions
from densevidcap.decoding.select import ChoiceOptions, choose
from densevidcap.metrics.captions import CaptionScorer
from densevidcap.metrics.dense import Ranked, fill, list_ranks
from densevidcap.model_folder import WEIGHTS, hash_file, write_json
from densevidcap.models.category import mark_category
from densevidcap.models.streams import ClipView
from densevidcap.pipeline.captioner import DEFAULT_OPTIONS, DenseCaptioner
from densevidcap.pipeline.confidence import Ranking
from densevidcap.pipeline.generator import CaptionGenerator
from densevidcap.repro.definition import Known, Row
from densevidcap.repro.runner import Runner

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
        """Paths of the sentences that are said, in order of choice."""
        chosen = choose(
            self.sentences,
            np.array(self.quality),
            np.array(self.meanings),
            np.array(self.affinities),
            options,
        )
        return [choice.place for choice in chosen]


def find_candidates(bench: Runner) -> dict[str, Found]:
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


TRIED: dict[Known, int] = {"nothing": 0, "predicted": 3, "given": 1}
"""How many probable categories a sentence is searched under (Eq. 14)."""


def say(bench: Runner, row: Row) -> dict[str, str]:
    """By the given model, or by the row's recipe; what was said once is read again."""
    if row.system == "model":
        return _say_by_model(bench)
    captioner = bench.find_captioner(row.system, row.words)
    version = hash_file(captioner / WEIGHTS)[:12]
    path = bench.keep(f"{captioner.name}-{row.category}", version)
    if not path.exists():
        describer = CaptionGenerator.load(captioner)
        views = bench.view(captioner, bench.find_words(row.words))
        bench.watcher.start(f"{row.name}: describing", len(views))
        said = {}
        for record in bench.clips:
            said[record.id] = _say_one(describer, views[record.id], row.category, record.category)
            bench.watcher.advance()
        write_json(path, said)
    sentences: dict[str, str] = read_json(path)
    return sentences


def _say_by_model(bench: Runner) -> dict[str, str]:
    """The first choice of all that it finds."""
    first = ChoiceOptions(k=1)
    return {
        clip: found.sentences[found.choose(first)[0]]
        for clip, found in find_candidates(bench).items()
    }


def _say_one(
    describer: CaptionGenerator, view: ClipView, known: Known, category: str | None
) -> str:
    """Of the most informative sequence, which is a clip's first, as in the paper."""
    if known == "given" and describer.classifier is not None:
        view = mark_category(view, describer.classifier.categories, category)
    found = describer.propose(view, BeamOptions(), sequences=[0], categories=TRIED[known])
    return describer.say(max(found, key=lambda candidate: candidate.score).words)
