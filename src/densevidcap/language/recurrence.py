"""An LSTM whose memory is one tensor, over rows of uneven length and step by step."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Recurrence(nn.LSTM):
    """(N, T, D) to (N, T, H); its memory (N, 2, H) holds each row's hidden and cell state."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden, batch_first=True)

    def begin(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (N, T, H) from an empty memory, and the memory after each row's own last step."""
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        outputs, (hidden, cell) = self(packed)
        padded, _ = pad_packed_sequence(outputs, batch_first=True)
        return padded, torch.stack((hidden[0], cell[0]), 1)

    def go_on(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (N, L, H) of further steps, and the memory after them."""
        return self._run(x, memory, tuple(self.all_weights[0]))

    def go_on_blindly(self, steps: int, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The same for inputs that are zero, at less than half the cost: none is multiplied."""
        nothing = memory.new_zeros(len(memory), steps, 1)
        _, *others = self.all_weights[0]
        return self._run(nothing, memory, (memory.new_zeros(4 * self.hidden_size, 1), *others))

    def _run(self, x: Tensor, memory: Tensor, weights: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        hidden, cell = memory.unbind(1)
        if x.shape[1] == 1:
            # Whole-sequence kernels prepare the weights first; a single step is over by then.
            hidden, cell = torch.lstm_cell(x[:, 0], (hidden, cell), *weights)
            return hidden.unsqueeze(1), torch.stack((hidden, cell), 1)
        outputs, hidden, cell = torch.lstm(
            x,
            (hidden[None].contiguous(), cell[None].contiguous()),
            weights,
            has_biases=True,
            num_layers=1,
            dropout=0.0,
            train=self.training,
            bidirectional=False,
            batch_first=True,
        )
        return outputs, torch.stack((hidden[0], cell[0]), 1)

    def empty(self, like: Tensor) -> Tensor:
        """The memory (N, 2, H) of nothing, for as many rows as `like` has."""
        return like.new_zeros(len(like), 2, self.hidden_size)
