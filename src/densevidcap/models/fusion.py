"""Named inputs of region-sequences, any of which may be absent, brought to one width."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

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
