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
from densevidcap.data.lsa import LatentSpace
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.data.text import Vocabulary
from densevidcap.errors import CorpusError
from densevidcap.fits import (
    HELD_OUT,
    RUN,
    AboutOptions,
    claim_folder,
    describe_run,
    find_latecomers,
)
from densevidcap.language.captioner import Captioner, CaptionerOptions
from densevidcap.language.category import CategoryClassifier, CategoryTask, mark_category
from densevidcap.language.learning import SentenceOptions, SentenceTask
from densevidcap.language.library import LibraryOptions, open_library
from densevidcap.language.views import ClipView, StreamOptions
from densevidcap.lexical.fcn import LexicalFCN
from densevidcap.lexical.features import cache_features
from densevidcap.training import Progress, Run, TrainingOptions

CATEGORY = "category"
"""Folder inside the captioner's, for its classifier."""
MEANING = "meaning.safetensors"
"""The latent space of the training captions, in which sentences are compared."""

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
        if not any(record.split == "train" for record in self.clips):
            raise CorpusError(f"{manifest}: no clip of split 'train' has captions; add some")
        claim_folder(out, self.data, asdict(recipe))

    def read_clips(
        self, cache: Path, read: Callable[[], None], viewed: Callable[[], None]
    ) -> dict[str, str]:
        """Compute what is not in the cache yet; returns the clips to leave out, with why."""
        features, failures = cache_features(
            self.clips, self.words.encoder, cache, self.recipe.sampling, advance=read
        )
        readable = [record.id for record in self.clips if record.id in features]
        if not readable:
            raise CorpusError(f"no clip can be read; the first: {next(iter(failures.values()))}")
        left_out = failures | find_latecomers(self.out, readable)
        self.clips = [record for record in self.clips if record.id not in left_out]
        self.library = open_library(
            cache, self.words, features, self.clips, self.recipe.library, viewed
        )
        return left_out

    def train(self, progress: Progress, half: bool = False) -> list[dict[str, Any]]:
        """Train to the end, write the model folder (at 16 bits if `half`), return the history."""
        recipe = self.recipe
        trained = [record for record in self.clips if record.split == "train"]
        measured = [record for record in self.clips if record.split in HELD_OUT]
        vocabulary = self._list_words(trained)
        classifier = self._fit_category(trained, measured)
        torch.manual_seed(recipe.training.seed)
        model = Captioner(vocabulary, self._size_streams(classifier))
        views = {record.id: self._view(record, classifier) for record in self.clips}
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
        captions = (caption for record in trained for caption in record.captions)
        LatentSpace.fit(captions).save(self.out / MEANING)
        model.save(self.out, card, half, (MEANING,))
        draw_curves(history, self.out / RUN / "curves.png")
        return history

    def _list_words(self, trained: list[ClipRecord]) -> Vocabulary:
        captions = (caption for record in trained for caption in record.captions)
        least = self.recipe.sentences.min_count
        vocabulary = Vocabulary.build(captions, least)
        if len(vocabulary) == len(Vocabulary.SIGNS):
            raise CorpusError(f"no word occurs {least} times in the captions: lower min_count")
        return vocabulary

    def _size_streams(self, classifier: CategoryClassifier | None) -> CaptionerOptions:
        """The recipe's streams with their widths; without categories, that stream is left out."""
        streams = self.recipe.streams
        widths = dict.fromkeys(("words", "special_words", "clip_words"), self._words)
        widths["category"] = len(classifier.categories) if classifier else 0
        absent = () if classifier else ("category",)
        whole = [name for name in streams.whole if name not in absent]
        features = self.words.encoder.channels
        return replace(
            self.recipe.captioner,
            stream_dropout={n: share for n, share in streams.dropout.items() if n not in absent},
            frame_streams=dict.fromkeys(streams.frames, features),
            whole_streams={name: widths.get(name, features) for name in whole},
        )

    def _view(self, record: ClipRecord, classifier: CategoryClassifier | None) -> ClipView:
        """With the clip's category; where nobody gave it one, the most probable."""
        view = self.library.view(record.id)
        if classifier is None:
            return view
        names = classifier.categories
        if record.category in names:
            return mark_category(view, names, record.category)
        return mark_category(view, names, names[int(classifier.classify(view).argmax())])

    def _fit_category(
        self, trained: list[ClipRecord], measured: list[ClipRecord]
    ) -> CategoryClassifier | None:
        """None if no clip has a category."""
        categories = sorted({record.category for record in trained if record.category})
        if not categories:
            return None
        clips, held_out = (
            [
                (self.library.view(record.id), record.category)
                for record in records
                if record.category in categories
            ]
            for records in (trained, measured)
        )
        torch.manual_seed(self.recipe.training.seed)
        model = CategoryClassifier(categories, self.words.encoder.channels, self._words)
        task = CategoryTask(model, clips, held_out)
        history = Run(task, CATEGORY_TRAINING, self.out / CATEGORY / RUN).train()
        model.save(self.out / CATEGORY, {"history": history})
        return model

    @property
    def _words(self) -> int:
        """V: how many word probabilities are inputs."""
        return min(self.recipe.library.words, len(self.words.lexicon))
