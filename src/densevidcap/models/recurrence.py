"""The LSTM of all sentence models: from an empty memory, or on from one, whole or step by step."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Recurrence(nn.LSTM):
    """(N, T, D) to (N, T, H); its memory (N, 2, H) holds each row's hidden and cell state.

    It has torch's weights, but steps of its own: their gates (N, T, 4 H) may be put together from
    parts that are known at different times, or are the same for several rows.
    """

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden, batch_first=True)

    def begin(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (N, T, H) from an empty memory, and the memory after each row's own last step.

        T is the longest row's length; beyond a row's own its outputs are zero.
        """
        gates = self.begin_gates(x[:, : int(lengths.max())])
        return self._run(gates, self.empty(x), lengths)

    def go_on(self, gates: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (N, L, H) of further steps, and the memory after them."""
        if gates.shape[1] == 1 and not torch.is_grad_enabled():
            return self._step(gates[:, 0], memory)
        return self._run(gates, memory)

    def step_zero_input(self, steps: int, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The same for inputs that are zero."""
        nothing = memory.new_zeros(1, 1, 0)
        return self.go_on(self.begin_gates(nothing).expand(len(memory), steps, -1), memory)

    def begin_gates(self, x: Tensor) -> Tensor:
        """What the first features (N, T, <= D) of inputs add to gates (N, T, 4 H), with biases."""
        whole, _, *biases = self.all_weights[0]
        given = x.shape[-1]
        weight: Tensor = whole
        # Going back, a part of the weights costs more than all of them: none is taken needlessly.
        if not given:
            weight = whole.detach()[:, :0]
        elif given < self.input_size:
            weight = whole[:, :given]
        return F.linear(x, weight, biases[0] + biases[1])

    def end_gates(self, x: Tensor) -> Tensor:
        """What the last features (…, < D) of inputs add to gates (…, 4 H)."""
        return F.linear(x, self.end_weights(x.shape[-1]))

    def end_weights(self, features: int) -> Tensor:
        """(4 H, features): those of the last of its inputs' features."""
        weights: Tensor = self.all_weights[0][0][:, -features:]
        return weights

    def empty(self, like: Tensor) -> Tensor:
        """The memory (N, 2, H) of nothing, for as many rows as `like` has."""
        return self.all_weights[0][0].new_zeros(len(like), 2, self.hidden_size)

    def _step(self, gates: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """A single step that nothing is learned from, by the fewest operations."""
        hidden, cell = memory.unbind(1)
        weight = self.all_weights[0][1]
        if gates.dtype == weight.dtype:
            gates = gates.addmm(hidden, weight.t())
        else:  # of a weight as it stands autocast keeps what it rounded, of a turned one not
            gates = gates + F.linear(hidden, weight)
        let_in, keep, new, let_out = gates.chunk(4, 1)
        cell = keep.sigmoid() * cell + let_in.sigmoid() * new.tanh()
        hidden = let_out.sigmoid() * cell.tanh()
        return hidden.unsqueeze(1), torch.stack((hidden, cell), 1)

    def _run(
        self, gates: Tensor, memory: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        outputs, after = Steps.apply(  # type: ignore[no-untyped-call]
            gates.transpose(0, 1), memory, self.all_weights[0][1], lengths
        )
        return outputs.transpose(0, 1), after


class Steps(torch.autograd.Function):
    """Steps of an LSTM whose products are of the gates' numbers, and all else of 32 bits or more.

    Going back, all steps' share of the weights' gradient is one product. With gates of 16 bits
    this takes three quarters of the time of torch's LSTM on a CPU, with those of 32 as long.
    """

    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, memory: Tensor, weight: Tensor, lengths: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Outputs (T, N, H) and the memory (N, 2, H) after each row's own last step.

        Gates (T, N, 4 H) have all inputs; weight (4 H, H) is that of the hidden state. Rows end
        after lengths (N,): their outputs are zero then.
        """
        steps, rows, size = gates.shape[0], gates.shape[1], gates.shape[2] // 4
        wide = torch.promote_types(gates.dtype, torch.float32)
        weight = weight.to(gates.dtype)
        hiddens = gates.new_empty(steps + 1, rows, size)
        cells = gates.new_empty(steps + 1, rows, size, dtype=wide)
        hiddens[0], cells[0] = memory.unbind(1)
        opened = gates.new_empty(steps, rows, 4 * size, dtype=wide)
        tanhs = gates.new_empty(steps, rows, size, dtype=wide)
        ended = _find_ended(lengths, steps)
        for step in range(steps):
            now = opened[step].copy_(torch.addmm(gates[step], hiddens[step], weight.t()))
            let_in, keep, new, let_out = now.chunk(4, 1)
            now[:, : 2 * size].sigmoid_()
            new.tanh_()
            let_out.sigmoid_()
            cell = torch.mul(keep, cells[step], out=cells[step + 1]).addcmul_(let_in, new)
            hiddens[step + 1] = let_out * torch.tanh(cell, out=tanhs[step])
            if (over := ended[step]) is not None:
                for kept in (hiddens, cells):
                    kept[step + 1][over] = kept[step][over]
        ctx.save_for_backward(opened, tanhs, cells, hiddens, weight)
        ctx.ended, ctx.numbers = ended, memory.dtype
        outputs = hiddens[1:].clone()
        for step, over in enumerate(ended):
            if over is not None:
                outputs[step][over] = 0
        return outputs, torch.stack([kept[-1].to(memory.dtype) for kept in (hiddens, cells)], 1)

    @staticmethod
    def backward(ctx: Any, outputs: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        opened, tanhs, cells, hiddens, weight = ctx.saved_tensors
        steps, rows, size = tanhs.shape
        hidden, cell = memory.to(cells.dtype).unbind(1)
        gates = weight.new_empty(steps, rows, 4 * size)
        for step in reversed(range(steps)):
            let_in, keep, new, let_out = opened[step].chunk(4, 1)
            tanh, said, over = tanhs[step], outputs[step], ctx.ended[step]
            total = hidden + (said if over is None else said.masked_fill(over[:, None], 0))
            inner = cell + total * let_out * (1 - tanh * tanh)
            back = torch.empty_like(opened[step])
            parts = back.chunk(4, 1)
            torch.mul(inner * new, let_in * (1 - let_in), out=parts[0])
            torch.mul(inner * cells[step], keep * (1 - keep), out=parts[1])
            torch.mul(inner * let_in, 1 - new * new, out=parts[2])
            torch.mul(total * tanh, let_out * (1 - let_out), out=parts[3])
            if over is not None:
                back[over] = 0
            gates[step] = back
            before = (gates[step] @ weight).to(cells.dtype), inner * keep
            if over is None:
                hidden, cell = before
            else:
                hidden, cell = (
                    torch.where(over[:, None], after, earlier)
                    for after, earlier in zip((hidden, cell), before, strict=True)
                )
        flat = gates.view(steps * rows, 4 * size)
        weights = flat.t() @ hiddens[:-1].view(steps * rows, size)
        began = torch.stack((hidden, cell), 1).to(ctx.numbers)
        return gates, began, weights.to(cells.dtype), None


def _find_ended(lengths: Tensor | None, steps: int) -> list[Tensor | None]:
    """For each step, which rows (N,) have ended; None where all go on."""
    if lengths is None:
        return [None] * steps
    shortest = int(lengths.min())
    return [None if step < shortest else lengths <= step for step in range(steps)]
