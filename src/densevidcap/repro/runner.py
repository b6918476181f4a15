"""Where experiments are made: a corpus, a model, and baselines that are trained once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from densevidcap.config import ModelConfig
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.errors import CorpusError
from densevidcap.model_folder import read_model_config
from densevidcap.models.streams import load_streams
from densevidcap.models.views import ClipView
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.progress import Progress
from densevidcap.train.feature_cache import FeatureCache, cache_features
from densevidcap.train.sentences import SentenceStage
from densevidcap.train.stage import HELD_OUT, TrainingStage, choose_sampling, open_views
from densevidcap.train.words import list_rounds

CONFIGS = "ablation"
"""Beside the experiments: a config for each baseline."""
MODELS = "models"
"""In the folder of runs."""


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


class Runner:
    """Baselines are trained on the corpus' training clips; all is measured on those of `split`."""

    def __init__(self, paths: Paths, split: str, progress: Progress) -> None:
        self.paths, self.split, self.progress = paths, split, progress
        self._left_out: dict[str, str] = {}
        records = [record for record in read_manifest(paths.data) if record.captions]
        self.trained = [record for record in records if record.split == "train"]
        clips = choose_measured(records, paths.data, split)
        config = read_model_config(paths.model / "sentences")
        features = self._read(clips, LexicalFCN.load(self.find_words()), config)
        self.clips = [record for record in clips if record.id in features]
        if not self.clips:
            raise CorpusError(f"{paths.data}: none of its clips can be read, as told above")

    @property
    def references(self) -> dict[str, tuple[str, ...]]:
        return {record.id: record.captions for record in self.clips}

    def find_words(self, config: str = "") -> Path:
        """The Lexical-FCN of that config, trained if it is not there yet; the model's if empty."""
        own = self.paths.model / "words"
        if not config:
            return own
        folder, lexicon = self.paths.out / MODELS / config, own / "lexicon.json"
        data, cache = self.paths.data, self.paths.cache
        settings = self._read_config(config)
        self._train(list_rounds(folder, settings, data, lexicon, cache, left_out=self._left_out))
        return folder

    def find_captioner(self, config: str, words: str = "") -> Path:
        """The captioner of that config on those words, trained if it is not there yet."""
        folder = self.paths.out / MODELS / (f"{config}-on-{words}" if words else config)
        data, cache, below = self.paths.data, self.paths.cache, self.find_words(words)
        settings = self._read_config(config)
        self._train([SentenceStage(folder, settings, data, below, cache, left_out=self._left_out)])
        return folder

    def _train(self, stages: Sequence[TrainingStage]) -> None:
        """What is done is not done again, but has to be of these settings."""
        for stage in stages:
            stage.claim()
            if not stage.result.is_file():
                self.progress.say(f"training {stage.out.name}")
                stage.run(self.progress)

    def view(self, captioner: Path, words: Path) -> dict[str, ClipView]:
        """The measured clips as that captioner was taught to see them."""
        config, fcn = read_model_config(captioner), LexicalFCN.load(words)
        features = self._read(self.clips, fcn, config)
        streams = load_streams(captioner, config.streams.names)
        views = open_views(
            config, self.paths.cache, fcn, features, self.clips, streams, self.progress
        )
        return {record.id: views.view(record.id) for record in self.clips}

    def keep(self, what: str, version: str) -> Path:
        """A file for what a model of that version said."""
        return self.paths.out / "said" / f"{self.split}-{what}-{version}.json"

    def _read(
        self, clips: list[ClipRecord], words: LexicalFCN, config: ModelConfig
    ) -> FeatureCache:
        """Features of those clips that can be read; the others are named."""
        advance = self.progress.count("reading the clips to measure", len(clips))
        sampling, cache = choose_sampling(config), self.paths.cache
        features, failures = cache_features(clips, words.encoder, cache, sampling, advance=advance)
        self._tell(failures)
        return features

    def _read_config(self, name: str) -> ModelConfig:
        return ModelConfig.read(self.paths.definitions / CONFIGS / f"{name}.toml")

    def _tell(self, failures: Mapping[str, str]) -> None:
        for clip, reason in failures.items():
            if clip not in self._left_out:
                self.progress.say(f"left out {clip}: {reason}")
        self._left_out |= failures
