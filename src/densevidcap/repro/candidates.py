"""The one sentence that a system says of each measured clip."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from densevidcap.config import ModelConfig, SelectionConfig
from densevidcap.data.text_files import read_json
from densevidcap.decoding.select import choose
from densevidcap.metrics.captions import CaptionScorer
from densevidcap.metrics.dense import Ranked, fill, list_ranks
from densevidcap.model_folder import WEIGHTS, hash_file, read_model_config, write_json
from densevidcap.models.category import mark_category
from densevidcap.models.views import ClipView
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.pipeline.generator import CaptionGenerator
from densevidcap.repro.definition import Known, Row
from densevidcap.repro.runner import Runner
from densevidcap.types import Candidates

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
    """The sentences of a clip."""

    searched: Sequence[Pair]
    """What beams found for each sequence."""
    candidates: Candidates
    """The best of all, sampled ones too, to choose from."""
    selection: SelectionConfig
    """The model's."""

    def choose(self, **settings: float) -> Candidates:
        """The sentences that are said, in order of choice, by the model's settings but these.

        However sure it is of them: the paper's tables have as many of each clip.
        """
        options = replace(self.selection, sure=0.0, **settings)  # type: ignore[arg-type]
        chosen = choose(self.candidates, options)
        return self.candidates.select([choice.candidate for choice in chosen])


def find_candidates(runner: Runner) -> dict[str, Found]:
    """Read from the folder of runs, or found and written there."""
    model = DenseCaptioner.load(runner.paths.model)
    config = json.dumps(model.config.to_dict(), sort_keys=True).encode()
    path = runner.keep("candidates", f"{model.version}-{hashlib.sha256(config).hexdigest()[:8]}")
    if not path.exists():
        views = runner.view(runner.paths.model / "sentences", runner.find_words())
        advance = runner.progress.count("finding candidates", len(views))
        kept = {}
        for clip, view in views.items():
            kept[clip] = _find(model, view)
            advance()
        write_json(path, kept)
    return {clip: _read(model, content) for clip, content in read_json(path).items()}


def _find(model: DenseCaptioner, view: ClipView) -> dict[str, Any]:
    """What is kept of a clip. Found as the pipeline does, by its settings."""
    config = model.config
    searched = model.generator.propose(view, config.override({"decoding.samples": 0}))
    candidates = model.find_candidates(view, config)
    return {
        "searched": [(each.sequence, model.generator.say(each.ids)) for each in searched],
        "sentences": candidates.sentences,
        **{name: getattr(candidates, name).tolist() for name in candidates.list_arrays()},
    }


def _read(model: DenseCaptioner, content: dict[str, Any]) -> Found:
    arrays = {name: np.array(content[name], np.float32) for name in Candidates.list_arrays()}
    # The ranking may have been learned anew since.
    arrays["confidence"] = model.trust.rate(arrays["traits"])
    candidates = Candidates(tuple(content["sentences"]), **arrays)
    return Found(content["searched"], candidates, model.config.selection)


TRIED: dict[Known, int] = {"nothing": 0, "predicted": 3, "given": 1}
"""How many probable categories a sentence is searched under (Eq. 14)."""


def say(runner: Runner, row: Row) -> dict[str, str]:
    """By the given model, or by the row's config; what was said once is read again."""
    if row.system == "model":
        return _say_by_model(runner)
    captioner = runner.find_captioner(row.system, row.words)
    version = hash_file(captioner / WEIGHTS)[:12]
    path = runner.keep(f"{captioner.name}-{row.category}", version)
    if not path.exists():
        generator, config = CaptionGenerator.load(captioner), read_model_config(captioner)
        views = runner.view(captioner, runner.find_words(row.words))
        advance = runner.progress.count(f"{row.name}: describing", len(views))
        said = {}
        for record in runner.clips:
            view = _tell_category(generator, views[record.id], row.category, record.category)
            said[record.id] = _say_one(generator, view, row.category, config)
            advance()
        write_json(path, said)
    sentences: dict[str, str] = read_json(path)
    return sentences


def _say_by_model(runner: Runner) -> dict[str, str]:
    """The first choice of all that it finds."""
    return {clip: found.choose(k=1).sentences[0] for clip, found in find_candidates(runner).items()}


def _tell_category(
    generator: CaptionGenerator, view: ClipView, known: Known, category: str | None
) -> ClipView:
    """The view with the category that people gave the clip, if that is to be known."""
    if known != "given" or generator.classifier is None:
        return view
    return mark_category(view, generator.classifier.categories, category)


def _say_one(generator: CaptionGenerator, view: ClipView, known: Known, config: ModelConfig) -> str:
    """Of the most informative sequence, which is a clip's first, as in the paper."""
    tried = TRIED[known] if generator.classifier is not None else 0
    config = config.override({"decoding.samples": 0, "decoding.categories": tried})
    found = generator.propose(view, config, sequences=[0])
    return generator.say(max(found, key=lambda one: one.score).ids)
