"""Teaching a captioner: each sentence with the region-sequence that it describes (Sec. 3.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from densevidcap.data.manifest import ClipRecord
from densevidcap.data.text import Vocabulary
from densevidcap.errors import CorpusError, ModelError
from densevidcap.language.captioner import Captioner
from densevidcap.language.library import Library, LibraryOptions
from densevidcap.language.streams import Streams
from densevidcap.language.views import ClipView, Row, make_streams, spread_evenly
from densevidcap.regions.objectives import IndexArray

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
        model: Captioner,
        views: Mapping[str, ClipView],
        library: Library,
        records: Sequence[ClipRecord],
        held_out: Sequence[ClipRecord],
        pairing: LibraryOptions,
        options: SentenceOptions,
        seed: int = 0,
    ) -> None:
        if not any(record.captions for record in records):
            raise CorpusError("no caption to train on: is the manifest's split 'train'?")
        self.model, self.options, self.seed = model, options, seed
        self.views = [views[record.id] for record in (*records, *held_out)]
        self.pairs = self._pair(records, library, pairing, first=0)
        # A quarter of them says enough, and an epoch is over sooner.
        self.held_out = self._pair(held_out, library, pairing, first=len(records))[::4]

    def _pair(
        self, records: Sequence[ClipRecord], library: Library, pairing: LibraryOptions, first: int
    ) -> list[Pair]:
        vocabulary, longest = self.model.vocabulary, self.options.max_length
        pairs = []
        for clip, record in enumerate(records, start=first):
            sequences = library.pair(record.id, pairing)
            for caption, sequence in zip(record.captions, sequences, strict=True):
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
        words = [torch.tensor(pair.words) for pair in pairs]
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

    def rate_factors(self) -> dict[str, float]:
        return {}

    @torch.inference_mode()
    def validate(self) -> dict[str, float]:
        """Nats a word of held-out captions."""
        if not self.held_out:
            return {}
        total, words = 0.0, 0
        for start in range(0, len(self.held_out), self.options.batch):
            batch = self._collate(self.held_out[start : start + self.options.batch], None)
            count = int((batch.sentences[:, 1:] != Vocabulary.PAD).sum())
            total += float(self.model.loss(batch.streams, batch.sentences)) * count
            words += count
        return {"nats_a_word": total / words}
