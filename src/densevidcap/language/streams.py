"""What a sentence is made from: named inputs of a region-sequence, any of which may be absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn


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
