"""Where experiments are made: a corpus, a model, and baselines that are trained once."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from densevidcap.config import ModelConfig
from densevidcap.data.manifest import ClipRecord, read_manifest, write_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.errors import CorpusError, ModelError
from densevidcap.files import hold_in_turn
from densevidcap.model_folder import (
    CATEGORY,
    WEIGHTS,
    hash_file,
    read_model_config,
    write_json,
)
from densevidcap.models.backbones import build_backbone
from densevidcap.models.backbones.weights import find_folder, find_imagenet
from densevidcap.models.device import resolve_device
from densevidcap.models.streams import check_extracted, list_extracted, load_streams
from densevidcap.models.views import ClipView
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.progress import Progress
from densevidcap.repro.definition import About, Row
from densevidcap.repro.origin import find_commit
from densevidcap.repro.systems import System, read_system
from densevidcap.train.evaluator_regression import choose_stage
from densevidcap.train.feature_cache import (
    FeatureCache,
    cache_features,
    describe_origin,
    fit_streams,
)
from densevidcap.train.model import LexiconStage, read_corpus
from densevidcap.train.sentences import SentenceStage
from densevidcap.train.stage import (
    HELD_OUT,
    CorpusStage,
    open_views,
    read_json_or_none,
)
from densevidcap.train.words import list_rounds, measure_losses
from densevidcap.types import FloatArray

MODELS = "models"
"""In the folder of runs."""
BUDGET = "budget"
"""The config that all baselines extend."""
PARTS = "parts"
"""There too: manifests of parts of the corpus."""
SPENT = "spent.json"
"""Beside them: CPU-seconds of each training."""
MADE = "made.json"
"""There too: by which code each model and each file of sentences was made."""


@dataclass(frozen=True)
class Paths:
    """All that a user names."""

    definitions: Path
    """A folder such as definitions/."""
    data: Path
    """The manifest."""
    captions: Path
    """A manifest of all captions, also of clips that nobody has."""
    model: Path
    """A whole model: words, sentences, evaluator."""
    cache: Path
    out: Path
    boxes: Path | None = None
    """Of things in the clips' frames, for grounding."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """For the configs of all baselines, by dotted names: another budget is another folder."""


def choose_measured(records: Iterable[ClipRecord], data: Path, split: str) -> list[ClipRecord]:
    """Those of the split, by either of its names, that have captions."""
    measured = HELD_OUT if split in HELD_OUT else (split,)
    clips = [record for record in records if record.split in measured and record.captions]
    if not clips:
        raise CorpusError(
            f"{data}: no clip of split '{split}' has captions; "
            "prepare a manifest of a corpus that has them"
        )
    return clips


def _name(row: Row, part: str) -> str:
    """Of the folder of a captioner, or another part of a system."""
    named = [row.system, *([part] if part else [])]
    for joint, each in (("without", "-".join(row.without)), ("on", row.words)):
        named += [joint, each] if each else []
    return "-".join(named)


def _make_name(category: str) -> str:
    """Of a file or folder: "animals/pets" is no path."""
    return re.sub(r"\W+", "-", category)


def check_start(config: ModelConfig) -> None:
    """Refuse a Lexical-FCN whose backbone has no weights to start from here."""
    backbone = build_backbone(config.eyes.backbone)
    if config.training.words[0].weights == "imagenet" and backbone.state_dict():
        find_imagenet(backbone)


class Runner:
    """Baselines are trained on the corpus' training clips; all is measured on those of `split`."""

    def __init__(self, paths: Paths, about: About, progress: Progress) -> None:
        self.paths, self.split, self.progress = paths, about.split, progress
        self._base = about.words
        self._left_out: dict[str, str] = {}
        self.origin: dict[str, str] = {}
        """What the results are made from: name to SHA-256."""
        self.lacks: dict[str, str] = {}
        """Rows that are not run here, with why."""
        records = [record for record in read_manifest(paths.data) if record.captions]
        self.trained = [record for record in records if record.split == "train"]
        clips = choose_measured(records, paths.data, self.split)
        if self._base:
            config = self._read_system(self._base).config
        else:
            config = read_model_config(paths.model / "sentences")
        features = self._read(clips, LexicalFCN.load(self.find_words()), config)
        self.clips = [record for record in clips if record.id in features]
        if not self.clips:
            raise CorpusError(f"{paths.data}: none of its clips can be read, as told above")

    @property
    def references(self) -> dict[str, tuple[str, ...]]:
        return {record.id: record.captions for record in self.clips}

    def find_words(self, config: str = "") -> Path:
        """The Lexical-FCN of that config, trained if it is not there yet.

        If empty, the experiment's, or else the model's.
        """
        own, config = self.paths.model / "words", config or self._base
        if not config:
            self.identify(own)
            return own
        folder, settings = self.paths.out / MODELS / config, self._read_system(config).config
        spelt = json.dumps(settings.to_dict(), sort_keys=True)
        self.origin[f"settings of {config}"] = hashlib.sha256(spelt.encode()).hexdigest()
        data, cache = self.paths.data, self.paths.cache
        lexicon = self._find_lexicon(settings) if self._base else own / "lexicon.json"
        self._train(list_rounds(folder, settings, data, lexicon, cache, left_out=self._left_out))
        self.identify(folder)
        return folder

    def measure_losses(self, config: str) -> FloatArray:
        """(B,): what is left of each training clip's by the Lexical-FCN of that config."""
        settings, fcn = self._read_system(config).config, LexicalFCN.load(self.find_words(config))
        features = self._read(self.trained, fcn, settings)
        clips = [record for record in self.trained if record.id in features]
        self.progress.count("measuring losses")
        return measure_losses(fcn, features, clips, settings.training.words[-1])

    def _find_lexicon(self, config: ModelConfig) -> Path:
        """Of the training captions, where no model has one that fits."""
        path, data = self.paths.out / MODELS / "lexicon.json", self.paths.data
        if not path.is_file():
            LexiconStage(read_corpus(data), config, {"manifest": data}, path).run(self.progress)
        return path

    def find_captioners(self, row: Row) -> list[Path]:
        """Those of the row's system on its words, trained if they are not there yet."""
        data, system = self.paths.data, self.find_system(row)
        if system.section.each_category:
            return [*self.find_category_captioners(row).values()]
        start = self.find_start(row) if system.section.start else None
        return [
            self._find_captioner(_name(row, name), settings, row, data, start)
            for name, settings in system.captioners.items()
        ]

    def find_start(self, row: Row) -> Path:
        """The captioner that the row's start from; where each has a category, it knows P(c | v)."""
        section = self.find_system(row).section
        (start,) = self.find_captioners(replace(row, system=section.start or section.each_category))
        return start

    def find_category_captioners(self, row: Row) -> dict[str, Path]:
        """By category, each trained on its clips if it is not there yet."""
        start, settings = self.find_start(row), self.find_system(row).config
        captioners = {}
        for category in sorted({record.category for record in self.trained if record.category}):
            of_it = (each for each in (*self.trained, *self.clips) if each.category == category)
            short = _make_name(category)
            part = self.find_part(short, of_it)
            name = f"{_name(row, '')}-{short}"
            captioners[category] = self._find_captioner(name, settings, row, part, start)
        return captioners

    def _find_captioner(
        self, name: str, settings: ModelConfig, row: Row, data: Path, start: Path | None = None
    ) -> Path:
        folder, below = self.paths.out / MODELS / name, self.find_words(row.words)
        stage = SentenceStage(
            folder,
            settings,
            data,
            below,
            self.paths.cache,
            initial=start,
            # Few clips say few words: a category's captioner would lack what its rivals can say.
            keeps_words=start is not None,
            left_out=self._left_out,
        )
        self._train([stage])
        return folder

    def find_part(self, name: str, records: Iterable[ClipRecord]) -> Path:
        """A manifest of these clips of the corpus."""
        path = self.paths.out / PARTS / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_manifest(path, records)
        return path

    def find_evaluator(self, row: Row) -> Path:
        """That of the row's system, trained if it is not there yet."""
        folder, below = (
            self.paths.out / MODELS / _name(row, "evaluator"),
            self.find_words(row.words),
        )
        self._find_evaluator(folder, self.find_system(row).config, self.paths.data, below)
        return folder

    def find_ranker(self, kind: str, clips: int, part: Path) -> Path:
        """An evaluator of that kind that learned from so many clips, which `part` lists."""
        folder = self.paths.out / MODELS / f"evaluator-{kind}-{clips}"
        settings = self._read_system(BUDGET).config.override({"evaluator.kind": kind})
        self._find_evaluator(folder, settings, part, self.find_words())
        return folder

    def _find_evaluator(self, folder: Path, config: ModelConfig, data: Path, words: Path) -> None:
        cache, left_out = self.paths.cache, self._left_out
        self._train([choose_stage(folder, config, data, words, cache, left_out=left_out)])

    def find_system(self, row: Row) -> System:
        system = self._read_system(row.system).leave_out(row.without)
        # What looks at clips for the words does so for the sentences too.
        return system.look_by(self._read_system(row.words).config.engine) if row.words else system

    def _read_system(self, name: str) -> System:
        return read_system(self.paths.definitions, name, self.paths.settings)

    def find_lack(self, row: Row) -> str:
        """Why a row cannot be run here, for want of weights or of sound; empty if it can.

        It is published with the results, so it does not tell where this machine keeps its weights.
        """
        # A config that is at fault is no lack of this machine's.
        system, words = self.find_system(row), self._read_system(row.words) if row.words else None
        read = {name for each in system.captioners.values() for name in each.streams.names}
        if (system.section.each_category or "category" in read) and not any(
            record.category for record in self.trained
        ):
            return "no training clip has a category"
        try:
            for config in system.captioners.values():
                check_extracted(config.streams.names)
                named = list_extracted(config.streams.names, config.streams)
                fit_streams(self.trained, named, self.paths.cache)
            if words is not None:
                check_start(words.config)
        except (ModelError, CorpusError) as error:
            return str(error).replace(f"{find_folder()}{os.sep}", "")
        return ""

    def _train(self, stages: Sequence[CorpusStage]) -> None:
        """What is done is not done again, but has to be of these settings."""
        for stage in stages:
            waiting = partial(self.progress.say, f"{stage.out.name} is trained by another run")
            with hold_in_turn(stage.out, waiting):
                stage.claim()
                if not stage.result.is_file():
                    self.progress.say(f"training {stage.out.name}")
                    begun = process_time()
                    try:
                        stage.run(self.progress)
                    finally:
                        self._note_time(stage.out.name, process_time() - begun)
                    self.note_maker(stage.out)

    def note_maker(self, made: Path) -> None:
        """That this code made a model, or a file of sentences."""
        path, name = self.paths.out / MADE, made.relative_to(self.paths.out).as_posix()
        with hold_in_turn(path.parent):
            write_json(path, {**(read_json_or_none(path) or {}), name: find_commit()})

    def tell_maker(self, made: Path) -> None:
        """Note among what results were made from, if it was other code than what measures."""
        name = made.relative_to(self.paths.out).as_posix()
        commit = (read_json_or_none(self.paths.out / MADE) or {}).get(name, "not recorded")
        if commit != find_commit():
            self.origin[f"commit of {name}"] = commit

    def _note_time(self, name: str, seconds: float) -> None:
        """A training that is cut off goes on later: its parts add up."""
        path = self.paths.out / MODELS / SPENT
        with hold_in_turn(path.parent):
            spent = read_json_or_none(path) or {}
            write_json(path, {**spent, name: spent.get(name, 0.0) + seconds})

    def tell_time(self, captioner: Path) -> float:
        """CPU-seconds that its training took, of one core or of several together."""
        spent = read_json_or_none(self.paths.out / MODELS / SPENT) or {}
        return float(spent.get(captioner.name, 0.0))

    def identify(self, folder: Path) -> str:
        """The hash of a model's weights, noted as what the results were made from."""
        is_own = self.paths.out in folder.parents
        name = folder.relative_to(self.paths.out).as_posix() if is_own else f"model/{folder.name}"
        noted = f"weights of {name}"
        if noted not in self.origin:
            self.origin[noted] = hash_file(folder / WEIGHTS)
            if (classifier := folder / CATEGORY / WEIGHTS).is_file():
                self.origin[f"{noted}/{CATEGORY}"] = hash_file(classifier)
            if is_own:
                self.tell_maker(folder)
        return self.origin[noted][:12]

    def view(self, captioner: Path, words: Path, told: bool = False) -> dict[str, ClipView]:
        """The measured clips as that captioner was taught to see them.

        With `told`, region-sequences are searched with the words of the clip's reference sentences
        (Eq. 10), as the paper's are in training and by an oracle.
        """
        config, fcn = read_model_config(captioner), LexicalFCN.load(words)
        features, clips = self._read(self.clips, fcn, config), self.clips
        if told:
            config = config.override({"regions.training_words": "captions"})
            clips = [replace(record, split="train") for record in clips]
        streams = load_streams(captioner, config.streams.names)
        for stream in streams.values():
            stream.to(resolve_device(config.device), config.engine)
        views = open_views(config, self.paths.cache, fcn, features, clips, streams, self.progress)
        return {record.id: views.view(record.id) for record in self.clips}

    def keep(self, what: str, version: str) -> Path:
        """A file for what a model of that version said of these clips, with what people say.

        Clips of the same ids from other files are others: a model that is given trains on none.
        """
        told = [
            (record.id, describe_origin(record.source), record.captions, record.category)
            for record in self.clips
        ]
        clips = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:8]
        return self.paths.out / "said" / f"{self.split}-{what}-{version}-{clips}.json"

    def _read(
        self, clips: list[ClipRecord], words: LexicalFCN, config: ModelConfig
    ) -> FeatureCache:
        """Features of those clips that can be read; the others are named."""
        advance = self.progress.count("reading clips", len(clips))
        sampling, cache = Sampling.of(config.frames), self.paths.cache
        features, failures = cache_features(
            clips,
            words.encoder,
            cache,
            sampling,
            advance=advance,
            engine=config.engine,
            workers=config.training.workers,
        )
        self._tell(failures)
        return features

    def _tell(self, failures: Mapping[str, str]) -> None:
        for clip, reason in failures.items():
            if clip not in self._left_out:
                self.progress.say(f"left out {clip}: {reason}")
        self._left_out |= failures
