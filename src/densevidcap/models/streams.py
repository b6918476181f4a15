"""What a sentence is made from: named inputs of a region-sequence, any of which may be absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from densevidcap.errors import ModelError
from densevidcap.regions.objectives import IndexArray
from densevidcap.regions.search import pool_words
from densevidcap.regions.words import score_clip
from densevidcap.types import FloatArray, FrameGrid, RegionSequence


@dataclass(frozen=True)
class Streams:
    """Named inputs of N region-sequences."""

    frames: Mapping[str, Tensor]
    """Name to (N, T, D): one vector a frame ("regions", "global", …)."""
    whole: Mapping[str, Tensor]
    """Name to (N, D): one vector for all frames together ("clip", "words", "category", …)."""
    lengths: Tensor
    """(N,): frames of each, at least one; what lies beyond them is padding."""

    def __len__(self) -> int:
        return len(self.lengths)

    def select(self, rows: Tensor | slice) -> Streams:
        """The sequences of these numbers, in this order and as often as they are named."""
        return Streams(
            {name: stream[rows] for name, stream in self.frames.items()},
            {name: stream[rows] for name, stream in self.whole.items()},
            self.lengths[rows],
        )


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
        steps = torch.arange(self.frames.shape[1])
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

    def forward(self, stream: Tensor | None) -> Tensor:
        """A stream that is not there is the learned vector (H,), in training now and then too."""
        if stream is None:
            return self.absent
        projected: Tensor = self.linear(self.norm(stream))
        if self.training and self.dropout:
            each_row = (len(stream),) + (1,) * (stream.ndim - 1)
            dropped = torch.rand(each_row) < self.dropout
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
        whole = torch.zeros(len(streams), self.width)
        for name, projection in self.whole.items():
            whole = whole + projection(streams.whole.get(name))
        frames = whole.unsqueeze(1).expand(-1, longest, -1)
        for name, projection in self.frames.items():
            stream = streams.frames.get(name)
            frames = frames + projection(None if stream is None else stream[:, :longest])
        return Seen(self.dropout(frames), self.dropout(whole), streams.lengths)


FRAME_STREAMS = ("regions", "centred", "frames")
"""Of each frame: the sequence's region; the same minus the frame's mean, which is what sets it
apart from the other regions; and that mean itself."""

WHOLE_STREAMS = ("clip", "words", "special_words", "clip_words", "category")
"""Of the clip or sequence as a whole: the mean of its frames; word probabilities along the
sequence, what sets them apart from the clip's other sequences, and those of the clip; its
category, known or probable."""


@dataclass(frozen=True)
class StreamOptions:
    """Which streams a captioner gets."""

    frames: tuple[str, ...] = ("centred", "frames")
    whole: tuple[str, ...] = ("clip", "special_words", "clip_words", "category")
    dropout: dict[str, float] = field(default_factory=dict)
    """Stream to its share of sentences that are learned without it."""

    def __post_init__(self) -> None:
        for name, known in (("frames", FRAME_STREAMS), ("whole", WHOLE_STREAMS)):
            for stream in getattr(self, name):
                if stream not in known:
                    raise ModelError(f"no stream '{stream}': {name} may be {', '.join(known)}")
        if not self.frames:
            raise ModelError(f"frames must name at least one of {', '.join(FRAME_STREAMS)}")
        for stream, share in self.dropout.items():
            if stream not in (*self.frames, *self.whole):
                raise ModelError(f"dropout has '{stream}', which is in neither frames nor whole")
            if not 0 <= share < 1:
                raise ModelError(f"dropout of '{stream}' must be from 0 to below 1, not {share}")


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


def view_clip(seen: FrameGrid, sequences: Sequence[RegionSequence], words: int) -> ClipView:
    """Of sequences through all frames; `words` is V."""
    return ClipView(
        seen.features,
        np.array([sequence.regions for sequence in sequences]),
        pool_words(sequences, seen)[:, :words],
        score_clip(seen.probabilities[:, :, :words]),
    )


class Row(NamedTuple):
    """One region-sequence to describe, seen in some of its frames."""

    view: ClipView
    sequence: int
    frames: IndexArray


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


def make_streams(
    rows: Sequence[Row], frame_streams: Sequence[str], whole_streams: Sequence[str]
) -> Streams:
    """The named streams of N rows, side by side and padded with zeros to the longest."""
    lengths = [len(row.frames) for row in rows]
    described = [_describe(row, (*frame_streams, *whole_streams)) for row in rows]
    frames = {}
    for name in frame_streams:
        padded = np.zeros((len(rows), max(lengths), described[0][name].shape[1]), np.float32)
        for place, row in enumerate(described):
            padded[place, : lengths[place]] = row[name]
        frames[name] = torch.from_numpy(padded)
    whole = {
        name: torch.from_numpy(np.stack([row[name] for row in described]).astype(np.float32))
        for name in whole_streams
        if all(name in row for row in described)
    }
    return Streams(frames, whole, torch.tensor(lengths))


def _describe(row: Row, names: Sequence[str]) -> Mapping[str, FloatArray]:
    view = row.view
    features = np.asarray(view.features[row.frames], np.float32)
    means = features.mean(axis=1)
    regions = features[np.arange(len(row.frames)), view.paths[row.sequence, row.frames]]
    values = {"regions": regions, "centred": regions - means, "frames": means}
    values["clip"] = means.mean(axis=0)
    # A root brings the many small probabilities nearer to the few large ones.
    if {"words", "special_words"} & set(names):
        roots = np.sqrt(np.asarray(view.sequence_words, np.float32))
        values["words"] = roots[row.sequence]
        values["special_words"] = roots[row.sequence] - roots.mean(axis=0)
    values["clip_words"] = np.sqrt(np.asarray(view.clip_words, np.float32))
    if view.category is not None:
        values["category"] = view.category
    return values
