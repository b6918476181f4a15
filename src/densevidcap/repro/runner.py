"""Where experiments are made: a corpus, a model, and rivals that are trained once."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.errors import CorpusError, DenseVidCapWarning
from densevidcap.model_folder import CARD, read_card
from densevidcap.models.streams import ClipView
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.train.feature_cache import FeatureCache, cache_features
from densevidcap.train.loop import Progress
from densevidcap.train.run import HELD_OUT
from densevidcap.train.sentences import SentencesFit, SentencesRecipe
from densevidcap.train.view_cache import ViewOptions, open_view_cache
from densevidcap.train.words import WordsFit, WordsRecipe

RECIPES = "ablation"
"""Beside the experiments: a recipe for each rival."""
MODELS = "models"
"""In the folder of runs."""


class Watcher(Progress, Protocol):
    """Somebody who wants to see what is done."""

    def start(self, what: str, total: int | None = None) -> None: ...

    def advance(self) -> None: ...


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


class Runner:
    """Rivals are trained on the corpus' training clips, and all is measured on those of `split`."""

    def __init__(self, places: Paths, split: str, watcher: Watcher) -> None:
        self.places, self.split, self.watcher = places, split, watcher
        records = [record for record in read_manifest(places.data) if record.captions]
        measured = HELD_OUT if split in HELD_OUT else (split,)
        self.trained = [record for record in records if record.split == "train"]
        clips = [record for record in records if record.split in measured]
        if not clips:
            raise CorpusError(
                f"{places.data}: no clip of split '{split}' has captions; "
                "prepare a manifest of a corpus that has them"
            )
        sampling = Sampling(**read_card(places.model / "sentences")["recipe"]["sampling"])
        features, failures = self._read(clips, LexicalFCN.load(self.find_words()), sampling)
        self._tell(failures)
        self.clips = [record for record in clips if record.id in features]
        if not self.clips:
            raise CorpusError(f"{places.data}: none of its clips can be read, as told above")

    @property
    def references(self) -> dict[str, tuple[str, ...]]:
        return {record.id: record.captions for record in self.clips}

    def find_words(self, recipe: str = "") -> Path:
        """The Lexical-FCN of that recipe, trained if it is not there yet; the model's if empty."""
        own = self.places.model / "words"
        if not recipe:
            return own
        folder = self.places.out / MODELS / recipe
        fit = WordsFit(
            self.places.data, own / "lexicon.json", WordsRecipe.read(self._recipe(recipe)), folder
        )
        if not (folder / CARD).exists():
            self.watcher.start(f"{recipe}: reading clips", len(fit.clips))
            self._tell(fit.read_clips(self.places.cache, self.watcher.advance))
            self.watcher.start(recipe)
            fit.train(self.watcher)
        return folder

    def find_captioner(self, recipe: str, words: str = "") -> Path:
        """The captioner of that recipe on those words, trained if it is not there yet."""
        folder = self.places.out / MODELS / (f"{recipe}-on-{words}" if words else recipe)
        fit = SentencesFit(
            self.places.data,
            self.find_words(words),
            SentencesRecipe.read(self._recipe(recipe)),
            folder,
        )
        if not (folder / CARD).exists():
            self.watcher.start(f"{folder.name}: reading clips", 2 * len(fit.clips))
            self._tell(
                fit.read_clips(self.places.cache, self.watcher.advance, self.watcher.advance)
            )
            self.watcher.start(folder.name)
            fit.train(self.watcher)
        return folder

    def view(self, captioner: Path, words: Path) -> dict[str, ClipView]:
        """The measured clips as that captioner was taught to see them."""
        recipe = read_card(captioner)["recipe"]
        fcn = LexicalFCN.load(words)
        features, _ = self._read(self.clips, fcn, Sampling(**recipe["sampling"]))
        self.watcher.start("region-sequences", len(self.clips))
        options = ViewOptions(**recipe["library"])
        library = open_view_cache(
            self.places.cache,
            fcn,
            features,
            self.clips,
            options.regions,
            options.association,
            options.words,
            self.watcher.advance,
        )
        return {record.id: library.view(record.id) for record in self.clips}

    def keep(self, what: str, version: str) -> Path:
        """A file for what a model of that version said."""
        return self.places.out / "said" / f"{self.split}-{what}-{version}.json"

    def _read(
        self, clips: list[ClipRecord], words: LexicalFCN, sampling: Sampling
    ) -> tuple[FeatureCache, dict[str, str]]:
        """Features of clips, and those that cannot be read, with why."""
        self.watcher.start("reading the clips to measure", len(clips))
        return cache_features(
            clips, words.encoder, self.places.cache, sampling, advance=self.watcher.advance
        )

    def _recipe(self, name: str) -> Path:
        return self.places.definitions / RECIPES / f"{name}.toml"

    def _tell(self, failures: Mapping[str, str]) -> None:
        for clip, reason in failures.items():
            warnings.warn(f"left out {clip}: {reason}", DenseVidCapWarning, stacklevel=2)
