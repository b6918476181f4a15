"""The soft-attention baseline: each word looks at the frames anew."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from densevidcap.language.decoder import Decoder, State
from densevidcap.language.recurrence import Recurrence
from densevidcap.language.streams import Seen


class SoftAttention(Decoder):
    """A mean of the frames, weighted by what the LSTM looks for, goes into it with every word."""

    def __init__(self, width: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.lstm = Recurrence(width + embedding, hidden)
        self.query = nn.Linear(hidden, width)
        self.key = nn.Linear(width, width, bias=False)
        self.energy = nn.Linear(width, 1, bias=False)

    def encode(self, seen: Seen) -> State:
        return State(
            frames=seen.frames,
            keys=self.key(seen.frames),
            padding=seen.padding,
            memory=self.lstm.empty(seen.frames),
        )

    def decode(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        memory, outputs = state["memory"], []
        # What to look at depends on the word before, so this one model goes step by step.
        for word in words.unbind(1):
            context = self._attend(state, memory)
            output, memory = self.lstm.go_on(torch.cat([context, word[:, None]], dim=-1), memory)
            outputs.append(output)
        return torch.cat(outputs, dim=1), State({**state, "memory": memory})

    def _attend(self, state: State, memory: Tensor) -> Tensor:
        """(N, 1, D): additive attention of each row's hidden state to its frames."""
        looking_for: Tensor = self.query(memory[:, :1])
        energy: Tensor = self.energy(torch.tanh(state["keys"] + looking_for)).squeeze(-1)
        weights = energy.masked_fill(state["padding"], float("-inf")).softmax(-1)
        return weights.unsqueeze(1) @ state["frames"]
