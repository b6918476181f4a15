"""Training a captioner: each sentence with the region-sequence that it describes (Sec. 3.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from densevidcap.config import StreamsConfig, read_recipe
from densevidcap.data.lsa import LatentSpace
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.sampling import Sampling
from densevidcap.data.text import Vocabulary
from densevidcap.decoding.mbr import Phrases
from densevidcap.errors import CorpusError, ModelError
from densevidcap.model_folder import WEIGHTS, hash_file
from densevidcap.models.captioner import CaptionModel, CaptionModelOptions, warm_start
from densevidcap.models.category import CategoryClassifier, CategoryTask, mark_category
from densevidcap.models.device import device_of, move
from densevidcap.models.streams import (
    ClipView,
    Row,
    Streams,
    StreamSizes,
    check_streams,
    make_streams,
    size_streams,
    spread_evenly,
)
from densevidcap.regions.association import LEFT_OUT
from densevidcap.regions.objectives import IndexArray
from densevidcap.train.loop import Progress, Run, TrainingOptions
from densevidcap.train.run import (
    HELD_OUT,
    RUN,
    AboutOptions,
    alone,
    claim_folder,
    describe_run,
    describe_start,
    draw_curves,
)
from densevidcap.train.view_cache import ViewCache, ViewedCorpus, ViewOptions

POOL = 20
"""Batches that are sorted by length together, so that a batch has little padding."""


@dataclass(frozen=True)
class SentenceOptions:
    """What the sentences are learned from, and how."""

    min_count: int = 3
    """Words that the training captions have less often are not learned."""
    max_length: int = 20
    """Longer captions are cut off."""
    batch: int = 64
    """Sentences a step."""
    frames: int = 8
    """Frames of a sequence at most, drawn anew each time (the paper's augmentation by sampling)."""
    label_smoothing: float = 0.1
    sentences: int = 0
    """Captions of a clip in one epoch, on average, drawn anew; 0 takes all."""

    def __post_init__(self) -> None:
        for name in ("min_count", "max_length", "batch", "frames"):
            if getattr(self, name) < 1:
                raise ModelError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.sentences < 0:
            raise ModelError(f"sentences must be 0 or more, not {self.sentences}")
        if not 0 <= self.label_smoothing <= 1:
            raise ModelError(f"label_smoothing is a share, from 0 to 1, not {self.label_smoothing}")


class Batch(NamedTuple):
    streams: Streams
    sentences: Tensor
    """(N, L)"""


class Pair(NamedTuple):
    """A caption and the sequence that it is learned from."""

    clip: int
    sequence: int
    words: tuple[int, ...]


class SentenceTask:
    """A captioner, the views of its clips and their captions, for the training loop."""

    def __init__(
        self,
        model: CaptionModel,
        views: Mapping[str, ClipView],
        library: ViewCache,
        records: Sequence[ClipRecord],
        held_out: Sequence[ClipRecord],
        options: SentenceOptions,
        seed: int = 0,
    ) -> None:
        if not any(record.captions for record in records):
            raise CorpusError("no caption to train on: is the manifest's split 'train'?")
        self.model, self.options, self.seed = model, options, seed
        self.views = [views[record.id] for record in (*records, *held_out)]
        self.pairs = self._pair(records, library, first=0)
        if not self.pairs:
            raise CorpusError(
                "no region-sequence shows a word of any caption: lower regions.threshold, "
                "or change association.unsupported"
            )
        # A quarter of them says enough, and an epoch is over sooner.
        self.held_out = self._pair(held_out, library, first=len(records))[::4]

    def _pair(self, records: Sequence[ClipRecord], library: ViewCache, first: int) -> list[Pair]:
        vocabulary, longest = self.model.vocabulary, self.options.max_length
        pairs = []
        for clip, record in enumerate(records, start=first):
            sequences = library.pair(record.id)
            for caption, sequence in zip(record.captions, sequences, strict=True):
                if sequence == LEFT_OUT:
                    continue
                words = vocabulary.encode(caption)
                cut = (*words[: longest + 1], Vocabulary.EOS) if len(words) > longest + 2 else words
                pairs.append(Pair(clip, int(sequence), tuple(cut)))
        return pairs

    def steps_per_epoch(self) -> int:
        return -(-self._drawn() // self.options.batch)

    def _drawn(self) -> int:
        if not self.options.sentences:
            return len(self.pairs)
        clips = len({pair.clip for pair in self.pairs})
        return min(len(self.pairs), clips * self.options.sentences)

    def batches(self, epoch: int) -> Iterator[Batch]:
        random = np.random.default_rng((self.seed, epoch))
        order = random.permutation(len(self.pairs))[: self._drawn()]
        size = self.options.batch
        for start in range(0, len(order), POOL * size):
            pool = sorted(order[start : start + POOL * size], key=self._length)
            parts = [pool[begin : begin + size] for begin in range(0, len(pool), size)]
            for part in random.permutation(len(parts)):
                yield self._collate([self.pairs[place] for place in parts[part]], random)

    def _length(self, place: int) -> int:
        return len(self.pairs[place].words)

    def _collate(self, pairs: Sequence[Pair], random: np.random.Generator | None) -> Batch:
        rows = [Row(self.views[p.clip], p.sequence, self._draw(p.clip, random)) for p in pairs]
        words = [torch.tensor(pair.words, device="cpu") for pair in pairs]
        padded = pad_sequence(words, batch_first=True, padding_value=Vocabulary.PAD)
        return Batch(self._make(rows), padded)

    def _make(self, rows: Sequence[Row]) -> Streams:
        options = self.model.options
        return make_streams(rows, tuple(options.frame_streams), tuple(options.whole_streams))

    def _draw(self, clip: int, random: np.random.Generator | None) -> IndexArray:
        """Frames of the clip: at least half of those allowed when drawn, all when not."""
        count = self.views[clip].paths.shape[1]
        most = min(count, self.options.frames)
        if random is None:
            return spread_evenly(count, most)
        drawn = random.integers((most + 1) // 2, most + 1)
        return np.sort(random.choice(count, drawn, replace=False))

    def loss(self, batch: Batch) -> Tensor:
        return self.model.loss(batch.streams, batch.sentences, self.options.label_smoothing)

    def lr_multipliers(self) -> dict[str, float]:
        return {}

    @torch.inference_mode()
    def validate(self) -> dict[str, float]:
        """Nats a word of held-out captions."""
        if not self.held_out:
            return {}
        total, words = 0.0, 0
        for start in range(0, len(self.held_out), self.options.batch):
            batch = self._collate(self.held_out[start : start + self.options.batch], None)
            batch = move(batch, device_of(self.model))
            count = int((batch.sentences[:, 1:] != Vocabulary.PAD).sum())
            total += float(self.model.loss(batch.streams, batch.sentences)) * count
            words += count
        return {"val_loss": total / words}


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
    streams: StreamsConfig
    captioner: CaptionModelOptions
    library: ViewOptions
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
        check_streams(recipe.streams)
        library = recipe.library
        super().__init__(
            manifest,
            words,
            recipe.sampling,
            library.regions,
            library.association,
            library.words,
            out,
        )
        self.recipe, self.initial = recipe, initial
        self.streams = (*recipe.streams.frame_level, *recipe.streams.clip_level)
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
        model = CaptionModel(vocabulary, self._size_streams(classifier))
        if self.initial is not None:
            warm_start(model, self.initial)
        views = {record.id: self._view(record, classifier) for record in self.clips}
        task = SentenceTask(
            model,
            views,
            self.library,
            trained,
            measured,
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
        card["regions"] = self.describe_regions()
        if self.initial is not None:
            card["started_from"] = describe_start(self.initial)
        captions = (caption for record in trained for caption in record.captions)
        LatentSpace.fit(captions).save(self.out / MEANING)
        Phrases.count(record.captions for record in trained).save(self.out / PHRASES)
        model.save(self.out, card, half, (MEANING, PHRASES))
        draw_curves(history, self.out / RUN / "curves.png")
        return history

    def _size_streams(self, classifier: CategoryClassifier | None) -> CaptionModelOptions:
        """The recipe's streams with their widths; without categories, that stream is left out."""
        streams = self.recipe.streams
        categories = len(classifier.categories) if classifier else 0
        eyes = self.words.encoder
        sizes = StreamSizes(eyes.channels, self._words, categories, eyes.frame_channels)
        frames, whole = size_streams(streams, sizes)
        known = {*frames, *whole}
        return replace(
            self.recipe.captioner,
            stream_dropout={n: share for n, share in streams.dropout.items() if n in known},
            frame_streams=frames,
            whole_streams=whole,
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
