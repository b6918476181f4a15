"""Sentence models: S2VT, the paper's bi-directional form of it (Sec. 3.3), and two baselines."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.config import CaptionerConfig
from densevidcap.models.fusion import Seen
from densevidcap.models.recurrence import Recurrence


class State(dict[str, Tensor]):
    """What a model remembers between two words: tensors whose first axis is the rows N.

    "memory" (N, 2, H) is that of the LSTM that hears the words. Rows may share what they see:
    "owner" (N,) says whose row of `ahead` is theirs, "step" (N,) how far they have come.
    """

    ahead: Tensor
    """(K, S, 4 H): what the gates of the next S steps of each of K sequences have, whatever is
    said."""
    hearing: Tensor | None = None
    """(4 H, E): what turns embedded words into gates, in the numbers of `ahead`; rounded at the
    first step, once for all of them."""

    @classmethod
    def begin(cls, ahead: Tensor, memory: Tensor, **seen: Tensor) -> State:
        owner = torch.arange(len(memory), device=memory.device)
        state = cls(memory=memory, owner=owner, step=torch.zeros_like(owner), **seen)
        state.ahead = ahead
        return state

    def select(self, rows: Tensor | slice) -> State:
        return self.replace(**{name: tensor[rows] for name, tensor in self.items()})

    def replace(self, **tensors: Tensor) -> State:
        """The same with these tensors in place of its own."""
        state = State({**self, **tensors})
        state.ahead, state.hearing = self.ahead, self.hearing
        return state


class Decoder(nn.Module, ABC):
    """From what is seen, and the words so far, to what decides the next word.

    `decode` takes any number of words, so training on whole sentences and
    saying one word after the other are the same code.
    """

    @property
    @abstractmethod
    def speaker(self) -> Recurrence:
        """The LSTM that hears the words, as the last of its inputs."""

    @abstractmethod
    def encode(self, seen: Seen, steps: int) -> State:
        """The state before the first word, for so many steps at most."""

    def decode(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        """Embedded words (N, L, E) to hidden vectors (N, L, H), and the state after them."""
        steps = state["step"][:, None] + torch.arange(words.shape[1], device=words.device)
        known = state.ahead[state["owner"][:, None], steps]
        return self._go_on(state, known + self.speaker.end_gates(words))

    def step(self, state: State, words: Tensor, places: Tensor) -> tuple[Tensor, State]:
        """Hidden vectors (N, 1, H) after one more word, and the state.

        Embedded words (U, E) are those that differ; places (N,) tell which of them each row says:
        many rows say the same word, and it is multiplied once.
        """
        if state.hearing is None:
            state.hearing = self.speaker.end_weights(words.shape[-1]).to(state.ahead.dtype)
        heard = F.linear(words, state.hearing)
        gates = state.ahead[state["owner"], state["step"]] + heard[places]
        return self._go_on(state, gates.unsqueeze(1))

    def _go_on(self, state: State, gates: Tensor) -> tuple[Tensor, State]:
        hidden, memory = self._speak(state, gates)
        return hidden, state.replace(memory=memory, step=state["step"] + gates.shape[1])

    def _speak(self, state: State, gates: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden vectors (N, L, H) and the memory, by gates (N, L, 4 H) that have the words."""
        return self.speaker.go_on(gates, state["memory"])


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
        """`dropout` is that of what the lower LSTMs make of the frames."""
        super().__init__()
        self.lower = nn.ModuleList(
            Recurrence(width, hidden // directions) for _ in range(directions)
        )
        self.upper = Recurrence(hidden + embedding, hidden)
        self.dropout = nn.Dropout(dropout)
        self.embedding = embedding

    @torch.no_grad()
    def listen(self, forget_bias: float, visual_gain: float) -> None:
        """Begin with memories that last, and with frames that are heard beside the words."""
        for lstm in (*self.lower, self.upper):
            assert isinstance(lstm, Recurrence)
            # Gates are stacked: input, forget, cell, output.
            inputs, _, bias, _ = lstm.all_weights[0]
            bias[lstm.hidden_size : 2 * lstm.hidden_size] += forget_bias
            seen = lstm.input_size - (self.embedding if lstm is self.upper else 0)
            inputs[:, :seen] *= visual_gain

    @property
    def speaker(self) -> Recurrence:
        return self.upper

    def encode(self, seen: Seen, steps: int) -> State:
        """Lower LSTMs never hear of the words: they run on to the last step at once."""
        orders = (seen.frames, reverse(seen.frames, seen.lengths))
        read, blind = [], []
        for lstm, frames in zip(self.lower, orders, strict=False):
            assert isinstance(lstm, Recurrence)
            code, memory = lstm.begin(frames, seen.lengths)
            read.append(code)
            blind.append(lstm.step_zero_input(steps, memory)[0])
        codes = (self.dropout(torch.cat(each, dim=-1)) for each in (read, blind))
        _, memory = self.upper.begin(next(codes), seen.lengths)
        return State.begin(self.upper.begin_gates(next(codes)), memory)


def reverse(frames: Tensor, lengths: Tensor) -> Tensor:
    """(N, T, D) with each row's own frames from last to first; its padding stays at the end."""
    steps = torch.arange(frames.shape[1], device=frames.device)
    mirrored = lengths[:, None] - 1 - steps
    order = torch.where(mirrored >= 0, mirrored, steps)
    return frames.gather(1, order[..., None].expand_as(frames))


def shuffle(frames: Tensor, lengths: Tensor, anew: bool) -> Tensor:
    """(N, T, D) with each row's own frames in random order; its padding stays at the end.

    Drawn `anew`, or the same order every time, so that a clip gets the same sentence.
    """
    steps = torch.arange(frames.shape[1], device=frames.device)
    source = None if anew else torch.Generator().manual_seed(0)
    keys = torch.rand(frames.shape[1] if source else frames.shape[:2], generator=source)
    keys = keys.to(frames.device).expand(frames.shape[:2])
    # Padding sorts behind all that is drawn, in its own order.
    behind = torch.where(steps < lengths[:, None], keys, 1.0 + steps)
    return frames.gather(1, behind.argsort(1)[..., None].expand_as(frames))


class MeanPooling(Decoder):
    """The mean of all frames goes into the LSTM with every word."""

    def __init__(self, width: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.lstm = Recurrence(width + embedding, hidden)

    @property
    def speaker(self) -> Recurrence:
        return self.lstm

    def encode(self, seen: Seen, steps: int) -> State:
        total = seen.frames.masked_fill(seen.padding[..., None], 0).sum(1)
        mean = (total / seen.lengths[:, None]).unsqueeze(1)
        ahead = self.lstm.begin_gates(mean).expand(-1, steps, -1)
        return State.begin(ahead, self.lstm.empty(mean))


class SoftAttention(Decoder):
    """A mean of the frames, weighted by what the LSTM looks for, goes into it with every word."""

    def __init__(self, width: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.lstm = Recurrence(width + embedding, hidden)
        self.query = nn.Linear(hidden, width)
        self.key = nn.Linear(width, width, bias=False)
        self.energy = nn.Linear(width, 1, bias=False)

    @property
    def speaker(self) -> Recurrence:
        return self.lstm

    def encode(self, seen: Seen, steps: int) -> State:
        # Nothing is known ahead: what is looked at follows from what is said.
        nothing = seen.frames.new_zeros(1, 1, 1).expand(len(seen.frames), steps, -1)
        return State.begin(
            nothing,
            self.lstm.empty(seen.frames),
            frames=seen.frames,
            keys=self.key(seen.frames),
            padding=seen.padding,
        )

    def _speak(self, state: State, gates: Tensor) -> tuple[Tensor, Tensor]:
        """What to look at depends on the word before, so this one model goes step by step."""
        memory, outputs = state["memory"], []
        for each in gates.unbind(1):
            looked = self.lstm.begin_gates(self._attend(state, memory))
            output, memory = self.lstm.go_on(each.unsqueeze(1) + looked, memory)
            outputs.append(output)
        return torch.cat(outputs, dim=1), memory

    def _attend(self, state: State, memory: Tensor) -> Tensor:
        """(N, 1, D): additive attention of each row's hidden state to its frames."""
        looking_for: Tensor = self.query(memory[:, :1])
        energy: Tensor = self.energy(torch.tanh(state["keys"] + looking_for)).squeeze(-1)
        weights = energy.masked_fill(state["padding"], float("-inf")).softmax(-1)
        return weights.unsqueeze(1) @ state["frames"].to(weights.dtype)


def build_decoder(config: CaptionerConfig) -> Decoder:
    sizes = (config.hidden, config.embedding, config.hidden)
    if config.kind == "mean-pooling":
        return MeanPooling(*sizes)
    if config.kind == "soft-attention":
        return SoftAttention(*sizes)
    dropout = config.dropout if config.drop_codes else 0.0
    decoder = S2VT(*sizes, dropout, directions=2 if config.kind == "bi-s2vt" else 1)
    decoder.listen(config.forget_bias, config.visual_gain)
    return decoder
