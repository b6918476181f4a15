"""From a corpus and a Lexical-FCN to a folder with a captioner and its category classifier."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from densevidcap.artefacts import WEIGHTS, hash_file
from densevidcap.config import read_recipe
from densevidcap.curves import draw_curves
from densevidcap.data.lsa import LatentSpace
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.sampling import Sampling
from densevidcap.fits import (
    HELD_OUT,
    RUN,
    AboutOptions,
    alone,
    claim_folder,
    describe_run,
    describe_start,
)
from densevidcap.language.captioner import Captioner, CaptionerOptions
from densevidcap.language.category import CategoryClassifier, CategoryTask, mark_category
from densevidcap.language.corpus import ViewedCorpus
from densevidcap.language.inheriting import inherit
from densevidcap.language.learning import SentenceOptions, SentenceTask
from densevidcap.language.library import LibraryOptions
from densevidcap.language.phrases import Phrases
from densevidcap.language.views import ClipView, StreamOptions
from densevidcap.training import Progress, Run, TrainingOptions

CATEGORY = "category"
"""Folder inside the captioner's, for its classifier."""
MEANING = "meaning.safetensors"
"""The latent space of the training captions, in which sentences are compared."""
PHRASES = "phrases.json"
"""How rare words and pairs of words are in them."""

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
        return read_recipe(path, cls)


class SentencesFit(ViewedCorpus):
    """A training run of a captioner. The same call goes on with a run that was stopped."""

    def __init__(
        self,
        manifest: Path,
        words: Path,
        recipe: SentencesRecipe,
        out: Path,
        initial: Path | None = None,
    ) -> None:
        """`initial` is a captioner of the same sizes to start from."""
        super().__init__(manifest, words, recipe.sampling, recipe.library, out)
        self.recipe, self.initial = recipe, initial
        if initial is not None:
            self.data["initial"] = hash_file(initial / WEIGHTS)
        claim_folder(out, self.data, asdict(recipe))

    @alone
    def train(self, progress: Progress, half: bool = False) -> list[dict[str, Any]]:
        """Train to the end, write the model folder (at 16 bits if `half`), return the history."""
        recipe = self.recipe
        trained = [record for record in self.clips if record.split == "train"]
        measured = [record for record in self.clips if record.split in HELD_OUT]
        vocabulary = self.list_words(recipe.sentences.min_count)
        classifier = self._fit_category(trained, measured)
        torch.manual_seed(recipe.training.seed)
        model = Captioner(vocabulary, self._size_streams(classifier))
        if self.initial is not None:
            inherit(model, self.initial)
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
        if self.initial is not None:
            card["started_from"] = describe_start(self.initial)
        captions = (caption for record in trained for caption in record.captions)
        LatentSpace.fit(captions).save(self.out / MEANING)
        Phrases.count(record.captions for record in trained).save(self.out / PHRASES)
        model.save(self.out, card, half, (MEANING, PHRASES))
        draw_curves(history, self.out / RUN / "curves.png")
        return history

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
