"""The mean-pooling baseline: the order of frames is forgotten."""

from __future__ import annotations

import torch
from torch import Tensor

from densevidcap.language.decoder import Decoder, State
from densevidcap.language.recurrence import Recurrence
from densevidcap.language.streams import Seen


class MeanPooling(Decoder):
    """The mean of all frames goes into the LSTM with every word."""

    def __init__(self, width: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.lstm = Recurrence(width + embedding, hidden)

    def encode(self, seen: Seen) -> State:
        total = seen.frames.masked_fill(seen.padding[..., None], 0).sum(1)
        mean = total / seen.lengths[:, None]
        return State(mean=mean, memory=self.lstm.empty(mean))

    def decode(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        mean = state["mean"].unsqueeze(1).expand(-1, words.shape[1], -1)
        hidden, memory = self.lstm.go_on(torch.cat([mean, words], dim=-1), state["memory"])
        return hidden, State(mean=state["mean"], memory=memory)
