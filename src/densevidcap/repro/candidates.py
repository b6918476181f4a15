"""What systems say of each measured clip: the one sentence of each, and all of the given model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from densevidcap.config import DecodingConfig, SelectionConfig
from densevidcap.data.lexicon import Lexicon
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.text_files import read_json
from densevidcap.decoding.select import choose
from densevidcap.files import hold_in_turn
from densevidcap.intake import parse_json
from densevidcap.metrics.captions import CaptionScorer
from densevidcap.metrics.dense import Ranked, fill, list_ranks
from densevidcap.model_folder import CATEGORY, STAGES, hash_file, read_model_config, write_json
from densevidcap.models.category import CategoryClassifier, mark_category
from densevidcap.models.evaluator import Evaluator, load_evaluator
from densevidcap.models.views import ClipView
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.pipeline.captioner import RANKING, DenseCaptioner
from densevidcap.pipeline.generator import CaptionGenerator
from densevidcap.repro.definition import Known, Row
from densevidcap.repro.runner import Runner
from densevidcap.repro.systems import SystemSection, match_tags, standardise
from densevidcap.types import Candidates, FloatArray

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
        options = replace(self.selection, sure=0.0, news=0, **settings)  # type: ignore[arg-type]
        chosen = choose(self.candidates, options)
        return self.candidates.select([choice.candidate for choice in chosen])


RANKED = "ranking of model"
"""Among what results were made from: how the given model's sentences rank."""


def find_candidates(runner: Runner, told: bool = False) -> dict[str, Found]:
    """Read from the folder of runs, or found and written there.

    With `told`, in region-sequences that were searched with the words of the references (OSR).
    """
    model = DenseCaptioner.load(runner.paths.model)
    config = json.dumps(model.config.to_dict(), sort_keys=True).encode()
    for stage in STAGES:
        if (runner.paths.model / stage).is_dir():
            runner.identify(runner.paths.model / stage)
    if (ranking := runner.paths.model / RANKING).is_file():
        runner.origin[RANKED] = hash_file(ranking)
    runner.origin["settings of model"] = hashlib.sha256(config).hexdigest()
    kind = "told-candidates" if told else "candidates"
    # What is searched for once more hangs on the ranking too.
    settings = config + runner.origin.get(RANKED, "").encode()
    path = runner.keep(kind, f"{model.version}-{hashlib.sha256(settings).hexdigest()[:8]}")
    waiting = partial(runner.progress.say, "another run is finding candidates")
    with hold_in_turn(path.parent, waiting):
        if not path.exists():
            _find_all(runner, model, path, told)
    runner.origin[f"predictions {path.name}"] = hash_file(path)
    runner.tell_maker(path)
    return {clip: _read(model, content) for clip, content in read_json(path).items()}


def _find_all(runner: Runner, model: DenseCaptioner, path: Path, told: bool) -> None:
    """Goes on where it was cut off."""
    views = runner.view(runner.paths.model / "sentences", runner.paths.model / "words", told)
    doing = "asking the oracle for regions" if told else "finding candidates"
    advance = runner.progress.count(doing, len(views))
    kept = read_begun(begun := path.with_suffix(".begun"))
    with begun.open("a", encoding="utf-8") as lines:
        for clip, view in views.items():
            if clip not in kept:
                kept[clip] = _find(model, view)
                # On a line of its own, whatever a kill left of the one before.
                lines.write("\n" + json.dumps([clip, kept[clip]]))
                lines.flush()
            advance()
    write_json(path, kept)
    runner.note_maker(path)
    begun.unlink()


def read_begun(path: Path) -> dict[str, Any]:
    """What was found before it was cut off, by clip; the last line may be there in part alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            clip, content = parse_json(line.encode())
        except ValueError:
            continue
        kept[clip] = content
    return kept


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


TRIED: dict[Known, int] = {"nothing": 0, "likeliest": 1, "predicted": 1000, "given": 1}
"""How many probable categories a sentence is searched under: with "predicted" all, by Eq. 14."""


def say(runner: Runner, row: Row) -> dict[str, str]:
    """By the given model, or by the row's system; what was said once is read again."""
    if row.system == "model":
        return _say_by_model(runner)
    system, folders = runner.find_system(row), runner.find_captioners(row)
    picker = runner.find_evaluator(row) if system.section.pick == "evaluator" else None
    versions = [runner.identify(folder) for folder in (*folders, *([picker] if picker else []))]
    settings = json.dumps([asdict(system.section), system.config.to_dict()], sort_keys=True)
    digest = hashlib.sha256(f"{settings} {versions}".encode()).hexdigest()
    heard = [each.to_dict() for each in system.captioners.values()]
    spelt = f"{settings} {json.dumps(heard, sort_keys=True)}".encode()
    runner.origin[f"settings of {row.name}"] = hashlib.sha256(spelt).hexdigest()
    named = folders[0].name if len(folders) == 1 else row.system
    path = runner.keep(f"{named}-{row.category}", digest[:12])
    if not path.exists():
        words = runner.find_words(row.words)
        speakers = _find_speakers(runner, row, words)
        evaluator = load_evaluator(picker) if picker else None
        lexicon = LexicalFCN.load(words).lexicon
        advance = runner.progress.count(f"{row.name}: describing", len(runner.clips))
        said = {}
        for record in runner.clips:
            found = [each for speaker in speakers for each in speaker.say(record, row.category)]
            view = speakers[0].views[record.id]
            said[record.id] = pick_sentence(found, view, system.section, lexicon, evaluator)
            advance()
        write_json(path, said)
        runner.note_maker(path)
    runner.origin[f"predictions {path.name}"] = hash_file(path)
    runner.tell_maker(path)
    sentences: dict[str, str] = read_json(path)
    return sentences


def _find_speakers(runner: Runner, row: Row, words: Path) -> list[Speaker]:
    system = runner.find_system(row)
    if not system.section.each_category:
        spoken = zip(runner.find_captioners(row), system.captioners.values(), strict=True)
        return [Speaker(runner, folder, words, config.decoding) for folder, config in spoken]
    classifier = CategoryClassifier.load(runner.find_start(row) / CATEGORY)
    decoding = system.config.decoding
    return [
        CategorySpeaker(runner, folder, words, decoding, category, classifier)
        for category, folder in runner.find_category_captioners(row).items()
    ]


class Speaker:
    """A trained captioner, and the measured clips as it sees them."""

    def __init__(self, runner: Runner, folder: Path, words: Path, decoding: DecodingConfig) -> None:
        """`decoding` is the system's: how sentences are searched has no part in training."""
        self.generator = CaptionGenerator.load(folder)
        self.config = replace(read_model_config(folder), decoding=decoding)
        self.views = runner.view(folder, words)

    def say(self, record: ClipRecord, known: Known) -> list[tuple[str, float]]:
        """Sentences and scores, of the most informative sequence, which is a clip's first."""
        view = _tell_category(self.generator, self.views[record.id], known, record.category)
        tried = TRIED[known] if self.generator.classifier is not None else 0
        settings = {"decoding.samples": 0, "decoding.categories": tried}
        found = self.generator.propose(view, self.config.override(settings), sequences=[0])
        # A beam is searched under each category. The best of all by Eq. 14 are offered, or whoever
        # picks by other scores would choose among sentences of categories that the clip is not of.
        best = found[: self.config.decoding.beam]
        return [(self.generator.say(one.ids), one.score) for one in best]


class CategorySpeaker(Speaker):
    """One that learned from the clips of a category alone, and the classifier of all."""

    def __init__(
        self,
        runner: Runner,
        folder: Path,
        words: Path,
        decoding: DecodingConfig,
        category: str,
        classifier: CategoryClassifier,
    ) -> None:
        super().__init__(runner, folder, words, decoding)
        self.category, self.classifier = category, classifier

    def say(self, record: ClipRecord, known: Known) -> list[tuple[str, float]]:
        """With log P(c | v) in the scores (Eq. 14); nothing of a clip known to be of another."""
        names, view = self.classifier.categories, self.views[record.id]
        if known == "given" and record.category in names:
            log_category = 0.0
            if record.category != self.category:
                return []
        else:
            probabilities = self.classifier.classify(view)
            if known == "likeliest" and names[int(probabilities.argmax())] != self.category:
                return []
            probability = probabilities[names.index(self.category)]
            log_category = float(np.log(max(probability, np.finfo(np.float32).tiny)))
        config = self.config.override({"decoding.samples": 0})
        found = self.generator.propose(view, config, sequences=[0])
        penalty = config.decoding.length_penalty
        return [(self.generator.say(one.ids), one.weigh(log_category, penalty)) for one in found]


def pick_sentence(
    found: Sequence[tuple[str, float]],
    view: ClipView,
    section: SystemSection,
    lexicon: Lexicon,
    evaluator: Evaluator | None,
) -> str:
    """The sentence of a system, the first of equals."""
    sentences = [sentence for sentence, _ in found]
    values: Sequence[float] | FloatArray = [score for _, score in found]
    if evaluator is not None:
        values = evaluator.score(view, sentences)
    elif section.pick == "tags":
        shown = np.asarray(view.clip_words, np.float32)
        matches = [match_tags(text, lexicon, shown, section.tags) for text in sentences]
        values = standardise(values) + section.tag_weight * standardise(matches)
    return sentences[int(np.argmax(values))]


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
