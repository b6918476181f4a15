"""Training a captioner: each sentence with the region-sequence that it describes (Sec. 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from densevidcap.config import ModelConfig, SentenceTrainingConfig
from densevidcap.data.lsa import LatentSpace
from densevidcap.data.manifest import ClipRecord
from densevidcap.data.phrases import Phrases
from densevidcap.data.text import Vocabulary
from densevidcap.errors import CorpusError
from densevidcap.model_folder import CATEGORY, MEANING, PHRASES, WEIGHTS
from densevidcap.models.captioner import VOCABULARY, CaptionModel, StreamWidths, warm_start
from densevidcap.models.category import CategoryClassifier, CategoryTask, mark_category
from densevidcap.models.device import device_of, move
from densevidcap.models.fusion import Streams
from densevidcap.models.streams import EXTRACTED, StreamSizes, make_streams, size_streams
from densevidcap.models.views import ClipView, Row, spread_evenly
from densevidcap.progress import Progress
from densevidcap.regions.association import LEFT_OUT
from densevidcap.regions.objectives import IndexArray
from densevidcap.train.loop import TrainingLoop
from densevidcap.train.stage import RUN, TrainingStage, ViewStage, describe_start

POOL = 20
"""Batches that are sorted by length together, so that a batch has little padding."""


class Batch(NamedTuple):
    streams: Streams
    """Of K looks at region-sequences."""
    owners: Tensor
    """(N,): the look that each sentence is learned from."""
    sentences: Tensor
    """(N, L)"""


class Pair(NamedTuple):
    """A caption and the sequence that it is learned from."""

    clip: int
    sequence: int
    """With the clip's voice, if it trains that."""
    own: int
    """With a region's voice, if it trains that."""
    words: tuple[int, ...]


class Look(NamedTuple):
    """Captions of a clip that are learned from the same frames of the same sequence."""

    pairs: Sequence[Pair]
    sequence: int
    is_alone: bool = False
    """Whether they train a region's voice."""

    @property
    def length(self) -> int:
        """Of the longest caption."""
        return max(len(pair.words) for pair in self.pairs)


class SentenceTask:
    """A captioner, the views of its clips and their captions, for the training loop."""

    def __init__(
        self,
        model: CaptionModel,
        views: Mapping[str, ClipView],
        sequences: Mapping[str, IndexArray],
        records: Sequence[ClipRecord],
        held_out: Sequence[ClipRecord],
        options: SentenceTrainingConfig,
        most_frames: int,
        own: Mapping[str, IndexArray] | None = None,
        region_voice: float = 0.0,
    ) -> None:
        """`sequences` (S,) are those that a clip's captions describe; below 0 it trains none.

        The share `region_voice` of them is learned by the `own` sequence alone, which shows the
        caption best, unless none does. A sequence is read in at most so many frames, drawn anew
        each time (the paper's augmentation by sampling).
        """
        if not any(record.captions for record in records):
            raise CorpusError("no caption to train on: is the manifest's split 'train'?")
        self.model, self.options, self.most_frames = model, options, most_frames
        self.region_voice = region_voice
        self.views = [views[record.id] for record in (*records, *held_out)]
        own = own or {}
        self.pairs = self._pair(records, sequences, own, first=0)
        if not self.pairs:
            raise CorpusError(
                "no region-sequence shows a word of any caption: lower regions.threshold, "
                "or change association.unsupported"
            )
        # A quarter of them says enough, and an epoch is over sooner.
        self.held_out = self._pair(held_out, sequences, own, first=len(records))[::4]

    def _pair(
        self,
        records: Sequence[ClipRecord],
        sequences: Mapping[str, IndexArray],
        own: Mapping[str, IndexArray],
        first: int,
    ) -> list[Pair]:
        vocabulary, longest = self.model.vocabulary, self.options.max_length
        pairs = []
        for clip, record in enumerate(records, start=first):
            tied = sequences[record.id].tolist()
            shown = own[record.id].tolist() if record.id in own else [LEFT_OUT] * len(tied)
            for caption, sequence, best in zip(record.captions, tied, shown, strict=True):
                if sequence == LEFT_OUT:
                    continue
                words = vocabulary.encode(caption)
                cut = (*words[: longest + 1], Vocabulary.EOS) if len(words) > longest + 2 else words
                pairs.append(Pair(clip, sequence, best, tuple(cut)))
        return pairs

    def steps_per_epoch(self) -> int:
        return -(-self._drawn() // self.options.batch)

    def _drawn(self) -> int:
        if not self.options.captions_per_clip:
            return len(self.pairs)
        clips = len({pair.clip for pair in self.pairs})
        return min(len(self.pairs), clips * self.options.captions_per_clip)

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Looks of like lengths together, so that a batch has little padding."""
        random = np.random.default_rng((self.options.seed, epoch))
        drawn = random.permutation(len(self.pairs))[: self._drawn()]
        size = self.options.batch
        for pool in _cut(self._look([self.pairs[place] for place in drawn], random), POOL * size):
            batches = list(_cut(sorted(pool, key=lambda look: look.length), size))
            for place in random.permutation(len(batches)):
                yield self._collate(batches[place], random)

    def _look(self, pairs: Sequence[Pair], random: np.random.Generator) -> list[Look]:
        """The pairs in looks of so many captions at most, in random order.

        A caption trains a region's voice with its probability, if a sequence shows it.
        """
        alike: dict[tuple[int, int, bool], list[Pair]] = {}
        for pair, drawn in zip(pairs, random.random(len(pairs)), strict=True):
            is_alone = pair.own != LEFT_OUT and bool(drawn < self.region_voice)
            sequence = pair.own if is_alone else pair.sequence
            alike.setdefault((pair.clip, sequence, is_alone), []).append(pair)
        most = self.options.captions_together
        looks = [
            Look(told[begin : begin + most], sequence, is_alone)
            for (_, sequence, is_alone), told in alike.items()
            for begin in range(0, len(told), most)
        ]
        return [looks[place] for place in random.permutation(len(looks))]

    def _collate(self, looks: Sequence[Look], random: np.random.Generator | None) -> Batch:
        clips = [look.pairs[0].clip for look in looks]
        rows = [
            Row(self.views[clip], look.sequence, self._draw(clip, random), look.is_alone)
            for clip, look in zip(clips, looks, strict=True)
        ]
        owners = [place for place, look in enumerate(looks) for _ in look.pairs]
        words = [torch.tensor(pair.words, device="cpu") for look in looks for pair in look.pairs]
        padded = pad_sequence(words, batch_first=True, padding_value=Vocabulary.PAD)
        return Batch(self._make(rows), torch.tensor(owners, device="cpu"), padded)

    def _make(self, rows: Sequence[Row]) -> Streams:
        widths = self.model.widths
        return make_streams(rows, [*widths.frame_level], [*widths.clip_level])

    def _draw(self, clip: int, random: np.random.Generator | None) -> IndexArray:
        """Frames of the clip: at least half of those allowed when drawn, all when not."""
        count = self.views[clip].paths.shape[1]
        most = min(count, self.most_frames)
        if random is None or not self.options.draw_frames:
            return spread_evenly(count, most)
        drawn = random.integers((most + 1) // 2, most + 1)
        return np.sort(random.choice(count, drawn, replace=False))

    def loss(self, batch: Batch) -> Tensor:
        smoothing = self.options.label_smoothing
        return self.model.loss(batch.streams, batch.sentences, smoothing, batch.owners)

    def divide(self, batch: Batch, rank: int, size: int) -> tuple[Batch, float]:
        """Every `size`-th sentence; all of them, if there are fewer than processes."""
        if len(batch.sentences) < size:
            return batch, 1 / size
        rows = slice(rank, None, size)
        looks, owners = batch.owners[rows].unique(return_inverse=True)  # type: ignore[no-untyped-call]
        part = Batch(batch.streams.select(looks), owners, batch.sentences[rows])
        words = (_count_words(each.sentences) for each in (part, batch))
        return part, next(words) / next(words)

    def lr_multipliers(self) -> dict[str, float]:
        return {"fusion.frames.": self.options.projection_rate}

    @torch.inference_mode()
    def validate(self) -> dict[str, float]:
        """Nats a word of held-out captions, by the clip's voice and a region's, if there is one."""
        if not self.held_out:
            return {}
        losses = {"val_loss": self._measure(is_alone=False)}
        if self.region_voice:
            losses["val_loss_region"] = self._measure(is_alone=True)
        return losses

    def _measure(self, is_alone: bool) -> float:
        total, words = 0.0, 0
        looks = [
            Look([pair], pair.own, is_alone=True)
            if is_alone and pair.own != LEFT_OUT
            else Look([pair], pair.sequence)
            for pair in self.held_out
        ]
        for part in _cut(looks, self.options.batch):
            batch = move(self._collate(part, None), device_of(self.model))
            count = _count_words(batch.sentences)
            total += float(self.model.loss(batch.streams, batch.sentences)) * count
            words += count
        return total / words


def _cut(looks: Iterable[Look], size: int) -> Iterator[list[Look]]:
    """Looks of so many captions together; one that lies across an end becomes two."""
    part: list[Look] = []
    room = size
    for look in looks:
        rest = look
        while len(rest.pairs) >= room:
            yield [*part, rest._replace(pairs=rest.pairs[:room])]
            rest, part, room = rest._replace(pairs=rest.pairs[room:]), [], size
        if rest.pairs:
            part.append(rest)
            room -= len(rest.pairs)
    if part:
        yield part


def _count_words(sentences: Tensor) -> int:
    """That are to be said, their ends included, of sentences (N, L)."""
    return int((sentences[:, 1:] != Vocabulary.PAD).sum())


class SentenceStage(ViewStage, TrainingStage):
    """Training a captioner, and the classifier of categories that goes with it."""

    name = "sentences"

    def __init__(
        self,
        out: Path,
        config: ModelConfig,
        manifest: Path,
        words: Path,
        cache: Path,
        *,
        initial: Path | None = None,
        keeps_words: bool = False,
        half: bool = False,
        left_out: dict[str, str] | None = None,
        fail_fast: bool = False,
    ) -> None:
        """`initial` is a captioner of the same sizes to start from.

        With `keeps_words` its words are all that can be said, whatever these clips' captions say.
        """
        inputs = {"manifest": manifest, "words": words / WEIGHTS}
        if initial is not None:
            inputs["initial"] = initial / WEIGHTS
        super().__init__(
            out, config, inputs, cache, half=half, left_out=left_out, fail_fast=fail_fast
        )
        self.options: SentenceTrainingConfig = config.training.sentences
        self.streams = config.streams.names
        self._initial, self._spoken = initial, initial if keeps_words else None

    def list_settings(self) -> dict[str, Any]:
        return {
            **super().list_settings(),
            "captioner": asdict(self.config.captioner),
            "training": asdict(self.options),
            "category": asdict(self.config.training.category),
            **({"keeps_words": True} if self._spoken else {}),
        }

    def prepare(self, progress: Progress) -> SentenceTask:
        self.read_views(progress)
        if self._spoken is not None:
            vocabulary = Vocabulary.load(self._spoken / VOCABULARY)
        else:
            vocabulary = self.list_words(self.options.min_count)
        classifier = self._train_category(progress)
        torch.manual_seed(self.options.seed)
        widths = self._size_streams(classifier)
        shares = self.config.streams.dropout
        dropout = {name: shares[name] for name in shares if classifier or name != "category"}
        self.model = CaptionModel(vocabulary, self.config.captioner, widths, dropout)
        if self._initial is not None:
            warm_start(self.model, self._initial)
        return SentenceTask(
            self.model,
            {record.id: self._view(record, classifier) for record in self.clips},
            self.sequences,
            self.trained,
            self.held_out,
            self.options,
            self.config.captioner.most_frames,
            {record.id: self.views.own(record.id) for record in self.clips},
            self.config.streams.region_voice,
        )

    def save(self, card: dict[str, Any]) -> None:
        card["regions"] = self.describe_views()
        if self._initial is not None:
            card["started_from"] = describe_start(self._initial)
        captions = (caption for record in self.trained for caption in record.captions)
        LatentSpace.fit(captions).save(self.out / MEANING)
        Phrases.count(record.captions for record in self.trained).save(self.out / PHRASES)
        learned = [file for each in self.extracted.values() for file in each.save(self.out)]
        if self.extracted:
            card[EXTRACTED] = {name: each.describe() for name, each in self.extracted.items()}
        self.model.save(self.out, card, self.half, (MEANING, PHRASES, *learned))

    def _size_streams(self, classifier: CategoryClassifier | None) -> StreamWidths:
        """The streams with their widths; without categories, that stream is left out."""
        categories = len(classifier.categories) if classifier else 0
        eyes = self.words.encoder
        sizes = StreamSizes(eyes.channels, self.lexicon_size, categories, eyes.frame_channels)
        return StreamWidths(*size_streams(self.config.streams, sizes))

    def _view(self, record: ClipRecord, classifier: CategoryClassifier | None) -> ClipView:
        """With the clip's category; where nobody gave it one, the most probable."""
        view = self.views.view(record.id)
        if classifier is None:
            return view
        names = classifier.categories
        if record.category in names:
            return mark_category(view, names, record.category)
        return mark_category(view, names, names[int(classifier.classify(view).argmax())])

    def _train_category(self, progress: Progress) -> CategoryClassifier | None:
        """None if no clip has a category."""
        categories = sorted({record.category for record in self.trained if record.category})
        if not categories:
            return None
        clips, held_out = (
            [
                (self.views.view(record.id), record.category)
                for record in records
                if record.category in categories
            ]
            for records in (self.trained, self.held_out)
        )
        torch.manual_seed(self.options.seed)
        model = CategoryClassifier(categories, self.words.encoder.channels, self.lexicon_size)
        task = CategoryTask(model, clips, held_out)
        folder = self.out / CATEGORY
        advance = progress.count("learning categories")
        history = TrainingLoop(
            task, self.config.training.category, folder / RUN, self.device
        ).train()
        advance()
        model.save(folder, {"history": history})
        return model
