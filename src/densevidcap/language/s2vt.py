"""Sequence to sequence, video to text: S2VT, and the paper's bi-directional form (Sec. 3.3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.language.decoder import Decoder, State
from densevidcap.language.recurrence import Recurrence
from densevidcap.language.streams import Seen


class S2VT(Decoder):
    """LSTMs that read the frames, below one that reads them and the words.

    All of them run through the encoding steps, in which words are padding, and
    on through the decoding steps, in which frames are padding. Of the paper's
    two lower LSTMs the second reads the frames from last to first. They share
    the width of S2VT's one, so that the comparison of both is one of direction
    and not of size.
    """

    def __init__(
        self, width: int, embedding: int, hidden: int, dropout: float, directions: int
    ) -> None:
        super().__init__()
        self.lower = nn.ModuleList(
            Recurrence(width, hidden // directions) for _ in range(directions)
        )
        self.upper = Recurrence(hidden + embedding, hidden)
        self.dropout = nn.Dropout(dropout)
        self.embedding = embedding

    def encode(self, seen: Seen) -> State:
        orders = (seen.frames, reverse(seen.frames, seen.lengths))
        state, codes = State(), []
        for number, (lstm, frames) in enumerate(zip(self.lower, orders, strict=False)):
            assert isinstance(lstm, Recurrence)
            code, state[f"lower{number}"] = lstm.begin(frames, seen.lengths)
            codes.append(code)
        no_words = (0, self.embedding)
        inputs = F.pad(self.dropout(torch.cat(codes, dim=-1)), no_words)
        _, state["upper"] = self.upper.begin(inputs, seen.lengths)
        return state

    def decode(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        after, codes = State(state), []
        for number, lstm in enumerate(self.lower):
            assert isinstance(lstm, Recurrence)
            name = f"lower{number}"
            code, after[name] = lstm.go_on_blindly(words.shape[1], state[name])
            codes.append(code)
        inputs = torch.cat([self.dropout(torch.cat(codes, dim=-1)), words], dim=-1)
        hidden, after["upper"] = self.upper.go_on(inputs, state["upper"])
        return hidden, after


def reverse(frames: Tensor, lengths: Tensor) -> Tensor:
    """(N, T, D) with each row's own frames from last to first; its padding stays at the end."""
    steps = torch.arange(frames.shape[1])
    mirrored = lengths[:, None] - 1 - steps
    order = torch.where(mirrored >= 0, mirrored, steps)
    return frames.gather(1, order[..., None].expand_as(frames))
