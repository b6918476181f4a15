"""What a sentence is made from: named inputs of a region-sequence, any of which may be absent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from densevidcap.config import StreamsConfig
from densevidcap.data.clip import Clip
from densevidcap.data.sampling import Shot
from densevidcap.errors import ModelError
from densevidcap.models.shown_words import score_clip
from densevidcap.regions.objectives import IndexArray
from densevidcap.regions.search import pool_words
from densevidcap.types import FloatArray, FrameGrid, RegionSequence, TimeArray


@dataclass(frozen=True)
class Streams:
    """Named inputs of N region-sequences."""

    frames: Mapping[str, Tensor]
    """Name to (N, T, D): one vector a frame ("regions", "global", …)."""
    whole: Mapping[str, Tensor]
    """Name to (N, D): one vector for all frames together ("clip", "words", "category", …)."""
    lengths: Tensor
    """(N,): frames of each, at least one; what lies beyond them is padding."""
    missing: Mapping[str, Tensor] = field(default_factory=dict)
    """Name to (N,): which of the sequences are without that stream, where not all have it."""

    def __len__(self) -> int:
        return len(self.lengths)

    def select(self, rows: Tensor | slice) -> Streams:
        """The sequences of these numbers, in this order and as often as they are named."""
        return self._map(lambda tensor: tensor[rows])

    def to(self, device: torch.device) -> Streams:
        return self._map(lambda tensor: tensor.to(device))

    def _map(self, change: Callable[[Tensor], Tensor]) -> Streams:
        frames, whole, missing = (
            {name: change(tensor) for name, tensor in part.items()}
            for part in (self.frames, self.whole, self.missing)
        )
        return Streams(frames, whole, change(self.lengths), missing)


@dataclass(frozen=True)
class Seen:
    """All streams of N region-sequences, brought to one width H."""

    frames: Tensor
    """(N, T, H): each frame, with what belongs to all frames."""
    whole: Tensor
    """(N, H): what belongs to all frames, alone."""
    lengths: Tensor
    """(N,)"""

    @property
    def padding(self) -> Tensor:
        """(N, T): which steps lie beyond their row's frames."""
        steps = torch.arange(self.frames.shape[1], device=self.lengths.device)
        return steps >= self.lengths[:, None]


class StreamProjection(nn.Module):
    """One stream (…, D) to the common width (…, H)."""

    def __init__(self, features: int, width: int, dropout: float) -> None:
        super().__init__()
        # Streams differ in scale by orders of magnitude: probabilities, means after a ReLU, ….
        self.norm = nn.LayerNorm(features)
        self.linear = nn.Linear(features, width)
        self.absent = nn.Parameter(torch.zeros(width))
        self.dropout = dropout

    def forward(self, stream: Tensor | None, missing: Tensor | None = None) -> Tensor:
        """A stream that is not there is the learned vector (H,), in training now and then too.

        `missing` (N,) says in which rows it is not, where it is in some.
        """
        if stream is None:
            return self.absent
        projected: Tensor = self.linear(self.norm(stream))
        each_row = (len(stream),) + (1,) * (stream.ndim - 1)
        if missing is not None:
            projected = torch.where(missing.view(each_row), self.absent, projected)
        if self.training and self.dropout:
            dropped = torch.rand(each_row, device=stream.device) < self.dropout
            projected = torch.where(dropped, self.absent, projected)
        return projected


class StreamFusion(nn.Module):
    """The sum of all projected streams.

    A sum of projections is one linear map of all streams side by side, but one
    in which a stream can be absent.
    """

    def __init__(
        self,
        frames: Mapping[str, int],
        whole: Mapping[str, int],
        width: int,
        dropout: float,
        stream_dropout: Mapping[str, float],
    ) -> None:
        super().__init__()

        def project(streams: Mapping[str, int]) -> nn.ModuleDict:
            return nn.ModuleDict(
                {
                    name: StreamProjection(features, width, stream_dropout.get(name, 0.0))
                    for name, features in streams.items()
                }
            )

        self.frames, self.whole = project(frames), project(whole)
        self.width = width
        self.dropout = nn.Dropout(dropout)

    def forward(self, streams: Streams) -> Seen:
        """Streams that the model was not built for are not looked at."""
        longest = int(streams.lengths.max())
        missing = streams.missing
        whole = torch.zeros(len(streams), self.width, device=streams.lengths.device)
        for name, projection in self.whole.items():
            whole = whole + projection(streams.whole.get(name), missing.get(name))
        frames = whole.unsqueeze(1).expand(-1, longest, -1)
        for name, projection in self.frames.items():
            stream = streams.frames.get(name)
            shown = None if stream is None else stream[:, :longest]
            frames = frames + projection(shown, missing.get(name))
        return Seen(self.dropout(frames), self.dropout(whole), streams.lengths)


@dataclass(frozen=True)
class ClipView:
    """K region-sequences through T frames, and the probabilities of the V most frequent words."""

    features: FloatArray
    """(T, R, D)"""
    paths: IndexArray
    """(K, T): each sequence's region in each frame."""
    sequence_words: FloatArray
    """(K, V): the highest probability along the sequence."""
    clip_words: FloatArray
    """(V,): P(the clip shows the word)."""
    category: FloatArray | None = None
    """(C,): P(category)."""
    frame_vectors: FloatArray | None = None
    """(T, D): one for each whole frame, where the eyes have such."""
    extracted: Mapping[str, FloatArray] = field(default_factory=dict)
    """Streams that were read from the clip itself: name to (T, D) or (D,). None that it lacks."""


def view_clip(
    seen: FrameGrid,
    sequences: Sequence[RegionSequence],
    words: int,
    extracted: Mapping[str, FloatArray] | None = None,
) -> ClipView:
    """Of sequences through all frames; `words` is V."""
    return ClipView(
        seen.features,
        np.array([sequence.regions for sequence in sequences]),
        pool_words(sequences, seen)[:, :words],
        score_clip(seen.probabilities[:, :, :words]),
        frame_vectors=seen.frame_vectors,
        extracted=extracted or {},
    )


@dataclass(frozen=True)
class Row:
    """One region-sequence to describe, seen in some of its frames."""

    view: ClipView
    sequence: int
    frames: IndexArray

    @cached_property
    def _seen(self) -> tuple[FloatArray, FloatArray]:
        # The features of all regions are let go again: those of a batch are too many to keep.
        features = np.asarray(self.view.features[self.frames], np.float32)
        path = self.view.paths[self.sequence, self.frames]
        return features[np.arange(len(path)), path], features.mean(axis=1)

    @property
    def regions(self) -> FloatArray:
        """(T, D): its own region of each frame."""
        return self._seen[0]

    @property
    def means(self) -> FloatArray:
        """(T, D): of all regions of each frame."""
        return self._seen[1]

    @property
    def frame_vectors(self) -> FloatArray | None:
        """(T, D): of each whole frame."""
        vectors = self.view.frame_vectors
        return None if vectors is None else np.asarray(vectors[self.frames], np.float32)

    @cached_property
    def words(self) -> FloatArray:
        """(K, V): roots of every sequence's word probabilities.

        A root brings the many small probabilities nearer to the few large ones.
        """
        return np.sqrt(np.asarray(self.view.sequence_words, np.float32))


def look(
    view: ClipView, sequences: Sequence[int] | None = None, most: int | None = None
) -> list[Row]:
    """The view's sequences, each in all of its frames, or in at most so many, evenly spread."""
    count = view.paths.shape[1]
    frames = spread_evenly(count, min(count, most or count))
    chosen = range(len(view.paths)) if sequences is None else sequences
    return [Row(view, sequence, frames) for sequence in chosen]


def spread_evenly(count: int, chosen: int) -> IndexArray:
    """(chosen,): the frames in the middle of so many equal parts."""
    return np.floor((np.arange(chosen) + 0.5) * count / chosen).astype(np.intp)


@dataclass(frozen=True)
class StreamSizes:
    """What the widths of streams depend on."""

    features: int
    """D: of a region."""
    words: int
    """V: words whose probabilities are inputs."""
    categories: int
    """C, or 0 without."""
    frame_vector: int = 0
    """D: of the eyes' own vector of a whole frame, or 0 without."""


Level = Literal["frame", "clip"]


class Stream(ABC):
    """A named input of a sentence, of any width."""

    level: Level
    """Whether it has a vector for each frame, or one for all."""
    of_corpus: bool = False
    """Whether it has a place for each word of a lexicon, or each category: another corpus has
    others."""

    @abstractmethod
    def width(self, sizes: StreamSizes) -> int:
        """Length of a vector; 0 where there is no such stream."""

    @abstractmethod
    def read(self, row: Row) -> FloatArray | None:
        """(T, D) or (D,), by its level; None where the clip has none."""


class SeenStream(Stream):
    """One that follows from what the eyes have seen; it is as wide as one of the sizes."""

    def __init__(
        self,
        level: Level,
        size: Literal["features", "frame_vector", "words", "categories"],
        read: Callable[[Row], FloatArray | None],
    ) -> None:
        self.level, self.of_corpus = level, size in ("words", "categories")
        self._size, self._read = size, read

    def width(self, sizes: StreamSizes) -> int:
        width: int = getattr(sizes, self._size)
        return width

    def read(self, row: Row) -> FloatArray | None:
        return self._read(row)


class ExtractedStream(Stream):
    """One that is read from the clip itself (its motion, its sound), and has its own cache."""

    name: ClassVar[str]
    """Its name in `STREAMS`."""
    features: ClassVar[int]
    """D"""

    @abstractmethod
    def extract(self, clip: Clip, times: TimeArray, span: Shot) -> FloatArray | None:
        """(T, D) for the frames at these times, or (D,) for the span, by its level, in seconds.

        None where the clip has none.
        """

    def identify(self) -> str:
        """Changes with anything that its numbers depend on, such as its network's weights."""
        return self.name

    def width(self, sizes: StreamSizes) -> int:  # noqa: ARG002
        return self.features

    def read(self, row: Row) -> FloatArray | None:
        extracted = row.view.extracted.get(self.name)
        return extracted if extracted is None or self.level == "clip" else extracted[row.frames]


STREAMS: dict[str, Stream | str] = {
    # Of each frame: the sequence's region; the same minus the frame's mean, which is what sets it
    # apart from the other regions; that mean itself; and the eyes' own vector of the whole frame.
    "regions": SeenStream("frame", "features", lambda row: row.regions),
    "centred": SeenStream("frame", "features", lambda row: row.regions - row.means),
    "frames": SeenStream("frame", "features", lambda row: row.means),
    "whole_frames": SeenStream("frame", "frame_vector", lambda row: row.frame_vectors),
    # Of the clip or sequence as a whole: the mean of its frames; word probabilities along the
    # sequence, what sets them apart from the clip's other sequences, and those of the clip; its
    # category, known or probable.
    "clip": SeenStream("clip", "features", lambda row: row.means.mean(axis=0)),
    "words": SeenStream("clip", "words", lambda row: row.words[row.sequence]),
    "special_words": SeenStream(
        "clip", "words", lambda row: row.words[row.sequence] - row.words.mean(axis=0)
    ),
    "clip_words": SeenStream(
        "clip", "words", lambda row: np.sqrt(np.asarray(row.view.clip_words, np.float32))
    ),
    "category": SeenStream("clip", "categories", lambda row: row.view.category),
}
"""Name to a stream, or to the module and class of one. A new stream is a file and a line."""


@cache
def _import_stream(path: str) -> Stream:
    module, _, kind = path.partition(":")
    stream: Stream = getattr(import_module(module), kind)()
    return stream


def find_stream(name: str) -> Stream:
    if name not in STREAMS:
        raise ModelError(f"no stream '{name}': there are {', '.join(STREAMS)}")
    found = STREAMS[name]
    return _import_stream(found) if isinstance(found, str) else found


def check_streams(config: StreamsConfig) -> None:
    """Refuse a stream that there is not, or not at that level, before any clip is read."""
    for level, names in (("frame", config.frame_level), ("clip", config.clip_level)):
        for name in names:
            if find_stream(name).level != level:
                known = [each for each in STREAMS if find_stream(each).level == level]
                raise ModelError(
                    f"'{name}' is no {level}-level stream: {level}_level may be {', '.join(known)}"
                )


def size_streams(
    config: StreamsConfig, sizes: StreamSizes
) -> tuple[dict[str, int], dict[str, int]]:
    """Name to width, of the frame-level and of the clip-level streams that there are."""
    check_streams(config)
    frames, whole = (
        {name: find_stream(name).width(sizes) for name in names}
        for names in (config.frame_level, config.clip_level)
    )
    return (
        {name: width for name, width in frames.items() if width},
        {name: width for name, width in whole.items() if width},
    )


def list_extracted(names: Iterable[str]) -> dict[str, ExtractedStream]:
    """Those of the streams that are read from the clip itself."""
    found = {name: find_stream(name) for name in names if name in STREAMS}
    return {name: each for name, each in found.items() if isinstance(each, ExtractedStream)}


def extract_streams(
    names: Iterable[str], clip: Clip, times: TimeArray, span: Shot
) -> dict[str, FloatArray]:
    """What a clip has of these streams, for `ClipView.extracted`."""
    values = {
        name: stream.extract(clip, times, span) for name, stream in list_extracted(names).items()
    }
    return {name: value for name, value in values.items() if value is not None}


def make_streams(
    rows: Sequence[Row],
    frame_level: Sequence[str],
    clip_level: Sequence[str],
    device: torch.device | None = None,
) -> Streams:
    """The named streams of N rows, side by side and padded with zeros to the longest."""
    lengths = [len(row.frames) for row in rows]
    missing: dict[str, Tensor] = {}

    def stack(names: Sequence[str], steps: tuple[int, ...]) -> dict[str, Tensor]:
        stacked = {}
        for name in names:
            values = [find_stream(name).read(row) for row in rows]
            widths = {value.shape[-1] for value in values if value is not None}
            if not widths:
                continue  # none of the rows has it
            padded = np.zeros((len(rows), *steps, *widths), np.float32)
            for place, value in enumerate(values):
                if value is not None:
                    padded[place, : len(value)] = value
            stacked[name] = torch.from_numpy(padded)
            if any(value is None for value in values):
                missing[name] = torch.tensor([value is None for value in values], device="cpu")
        return stacked

    frames, whole = stack(frame_level, (max(lengths),)), stack(clip_level, ())
    streams = Streams(frames, whole, torch.tensor(lengths, device="cpu"), missing)
    return streams if device is None else streams.to(device)
