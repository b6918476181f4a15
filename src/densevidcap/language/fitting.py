"""From a corpus and a Lexical-FCN to a folder with a captioner and its category classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from densevidcap.artefacts import WEIGHTS, hash_file
from densevidcap.config import read_config
from densevidcap.curves import draw_curves
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.data.text import Vocabulary
from densevidcap.errors import CorpusError
from densevidcap.fits import HELD_OUT, RUN, AboutOptions, claim_folder, describe_run
from densevidcap.language.captioner import Captioner, CaptionerOptions
from densevidcap.language.category import CategoryClassifier, CategoryTask, mark_category
from densevidcap.language.learning import SentenceOptions, SentenceTask
from densevidcap.language.library import LibraryOptions, open_library
from densevidcap.language.views import StreamOptions
from densevidcap.lexical.fcn import LexicalFCN
from densevidcap.lexical.features import cache_features
from densevidcap.training import Progress, Run, TrainingOptions

CATEGORY = "category"
"""Folder inside the captioner's, for its classifier."""

CATEGORY_TRAINING = TrainingOptions(epochs=12, learning_rate=1e-3, weight_decay=0.05, average=0.99)


@dataclass(frozen=True)
class SentencesRecipe:
    """All that decides what a training run gives, beside its data and the words it builds on."""

    sampling: Sampling
    streams: StreamOptions
    captioner: CaptionerOptions
    library: LibraryOptions
    sentences: SentenceOptions
    training: TrainingOptions
    about: AboutOptions

    @classmethod
    def read(cls, path: Path) -> SentencesRecipe:
        """From a TOML file with a section for each field."""
        return cls(
            **read_config(
                path,
                sampling=Sampling,
                streams=StreamOptions,
                captioner=CaptionerOptions,
                library=LibraryOptions,
                sentences=SentenceOptions,
                training=TrainingOptions,
                about=AboutOptions,
            )
        )


class SentencesFit:
    """A training run of a captioner. The same call goes on with a run that was stopped."""

    def __init__(self, manifest: Path, words: Path, recipe: SentencesRecipe, out: Path) -> None:
        self.recipe, self.out = recipe, out
        self.words = LexicalFCN.load(words)
        self.data = {"manifest": hash_file(manifest), "words": hash_file(words / WEIGHTS)}
        records = [record for record in read_manifest(manifest) if record.captions]
        self.clips = [record for record in records if record.split in ("train", *HELD_OUT)]
        claim_folder(out, self.data, asdict(recipe))

    def read_clips(
        self, cache: Path, read: Callable[[], None], viewed: Callable[[], None]
    ) -> dict[str, str]:
        """Compute what is not in the cache yet; returns the clips to leave out, with why."""
        features, failures = cache_features(
            self.clips, self.words.encoder, cache, self.recipe.sampling, advance=read
        )
        self.clips = [record for record in self.clips if record.id not in failures]
        if not self.clips:
            raise CorpusError("no clip with captions can be read: see the messages above")
        self.library = open_library(
            cache, self.words, features, self.clips, self.recipe.library, viewed
        )
        return failures

    def train(self, progress: Progress, half: bool = False) -> list[dict[str, Any]]:
        """Train to the end, write the model folder (at 16 bits if `half`), return the history."""
        recipe = self.recipe
        trained = [record for record in self.clips if record.split == "train"]
        measured = [record for record in self.clips if record.split in HELD_OUT]
        categories = sorted({record.category for record in trained if record.category})
        if categories:
            self._fit_category(categories, trained, measured)
        torch.manual_seed(recipe.training.seed)
        captions = (caption for record in trained for caption in record.captions)
        vocabulary = Vocabulary.build(captions, recipe.sentences.min_count)
        model = Captioner(vocabulary, self._size_streams(len(categories)))
        views = {
            record.id: mark_category(self.library.view(record.id), categories, record.category)
            for record in self.clips
        }
        task = SentenceTask(
            model,
            views,
            self.library,
            trained,
            measured,
            recipe.library,
            recipe.sentences,
            recipe.training.seed,
        )
        history = Run(task, recipe.training, self.out / RUN).train(progress)
        card = describe_run(
            recipe.about,
            self.data,
            asdict(recipe),
            history,
            trained=len(trained),
            measured=len(measured),
        )
        model.save(self.out, card, half)
        draw_curves(history, self.out / RUN / "curves.png")
        return history

    def _size_streams(self, categories: int) -> CaptionerOptions:
        """The recipe's streams with their widths."""
        streams = self.recipe.streams
        words = min(self.recipe.library.words, len(self.words.lexicon))
        widths = dict.fromkeys(("words", "special_words", "clip_words"), words)
        widths["category"] = categories
        features = self.words.encoder.channels
        return replace(
            self.recipe.captioner,
            stream_dropout=streams.dropout,
            frame_streams=dict.fromkeys(streams.frames, features),
            whole_streams={name: widths.get(name, features) for name in streams.whole},
        )

    def _fit_category(
        self, categories: list[str], trained: list[ClipRecord], measured: list[ClipRecord]
    ) -> None:
        clips, held_out = (
            [
                (self.library.view(record.id), record.category)
                for record in records
                if record.category in categories
            ]
            for records in (trained, measured)
        )
        words = min(self.recipe.library.words, len(self.words.lexicon))
        torch.manual_seed(self.recipe.training.seed)
        model = CategoryClassifier(categories, self.words.encoder.channels, words)
        task = CategoryTask(model, clips, held_out)
        history = Run(task, CATEGORY_TRAINING, self.out / CATEGORY / RUN).train()
        model.save(self.out / CATEGORY, {"history": history})
