"""Sentence models: S2VT, the paper's bi-directional form of it (Sec. 3.3), and two baselines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from densevidcap.config import CaptionerConfig
from densevidcap.models.fusion import Seen


class Recurrence(nn.LSTM):
    """(N, T, D) to (N, T, H); its memory (N, 2, H) holds each row's hidden and cell state."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden, batch_first=True)

    def begin(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (N, T, H) from an empty memory, and the memory after each row's own last step."""
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, (hidden, cell) = self(packed)
        padded, _ = pad_packed_sequence(outputs, batch_first=True)
        return padded, torch.stack((hidden[0], cell[0]), 1)

    def go_on(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (N, L, H) of further steps, and the memory after them."""
        return self._run(x, memory, tuple(self.all_weights[0]))

    def step_zero_input(self, steps: int, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The same for inputs that are zero, at less than half the cost: none is multiplied."""
        nothing = memory.new_zeros(len(memory), steps, 1)
        _, *others = self.all_weights[0]
        return self._run(nothing, memory, (memory.new_zeros(4 * self.hidden_size, 1), *others))

    def begin_gates(self, x: Tensor) -> Tensor:
        """What the first features (N, T, <= D) of inputs add to gates (N, T, 4 H), with biases."""
        weight, _, *biases = self.all_weights[0]
        return F.linear(x, weight[:, : x.shape[-1]], biases[0] + biases[1])

    def end_gates(self, x: Tensor) -> Tensor:
        """What the last features (…, < D) of inputs add to gates (…, 4 H)."""
        return F.linear(x, self.all_weights[0][0][:, -x.shape[-1] :])

    def go_on_from(self, gates: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The output (N, 1, H) of one more step, and the memory after it.

        `gates` (N, 4 H) have all inputs already.
        """
        hidden, cell = memory.unbind(1)
        gates = gates.addmm(hidden, self.all_weights[0][1].t())
        let_in, keep, new, let_out = gates.chunk(4, 1)
        cell = keep.sigmoid() * cell + let_in.sigmoid() * new.tanh()
        hidden = let_out.sigmoid() * cell.tanh()
        return hidden.unsqueeze(1), torch.stack((hidden, cell), 1)

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


class State(dict[str, Tensor]):
    """What a model remembers between two words: tensors whose first axis is the rows N.

    "anchor" (N, E), if there is one, is added to every word.
    """

    ahead: Tensor | None = None
    """(K, S, …): what the next S steps of each of the K sequences need whatever is said. Rows of
    one sequence share it: "owner" (N,) says whose they are, "step" (N,) how far they have come."""

    def select(self, rows: Tensor) -> State:
        return self.keep({name: tensor[rows] for name, tensor in self.items()})

    def keep(self, tensors: Mapping[str, Tensor]) -> State:
        """Other tensors, but the same ahead of them."""
        state = State(tensors)
        state.ahead = self.ahead
        return state


class Decoder(nn.Module, ABC):
    """From what is seen, and the words so far, to what decides the next word.

    `decode` takes any number of words, so training on whole sentences and
    saying one word after the other are the same code.
    """

    @abstractmethod
    def encode(self, seen: Seen) -> State: ...

    @abstractmethod
    def decode(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        """Embedded words (N, L, E) to hidden vectors (N, L, H), and the state after them."""

    def look_ahead(self, state: State, steps: int) -> State:  # noqa: ARG002
        """The same state for words that come one by one, at most so many.

        What they do not change is computed here, once for all that may be said.
        """
        return state

    def step(self, state: State, words: Tensor, places: Tensor) -> tuple[Tensor, State]:
        """Hidden vectors (N, 1, H) after one more word, and the state; after `look_ahead`.

        Embedded words (U, E) are those that differ; places (N,) tell which of them each row says.
        """
        return self.decode(state, words[places].unsqueeze(1))


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
        codes, after = self._go_on_blindly(state, words.shape[1])
        inputs = torch.cat([codes, words], dim=-1)
        hidden, after["upper"] = self.upper.go_on(inputs, state["upper"])
        return hidden, after

    def look_ahead(self, state: State, steps: int) -> State:
        """Lower LSTMs never hear of the words, nor does what the upper one has from them."""
        codes, _ = self._go_on_blindly(state, steps)
        owner = torch.arange(len(codes), device=codes.device)
        ready = State(upper=state["upper"], owner=owner, step=torch.zeros_like(owner))
        ready.ahead = self.upper.begin_gates(codes)
        if "anchor" in state:
            ready.ahead = ready.ahead + self.upper.end_gates(state["anchor"]).unsqueeze(1)
        return ready

    def step(self, state: State, words: Tensor, places: Tensor) -> tuple[Tensor, State]:
        assert state.ahead is not None
        # Many rows say the same word: it is multiplied once.
        gates = state.ahead[state["owner"], state["step"]] + self.upper.end_gates(words)[places]
        hidden, memory = self.upper.go_on_from(gates, state["upper"])
        return hidden, state.keep({**state, "upper": memory, "step": state["step"] + 1})

    def _go_on_blindly(self, state: State, steps: int) -> tuple[Tensor, State]:
        """Codes (N, L, H) of the lower LSTMs, which see no frames any more."""
        after, codes = State(state), []
        for number, lstm in enumerate(self.lower):
            assert isinstance(lstm, Recurrence)
            name = f"lower{number}"
            code, after[name] = lstm.step_zero_input(steps, state[name])
            codes.append(code)
        return self.dropout(torch.cat(codes, dim=-1)), after


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

    def encode(self, seen: Seen) -> State:
        total = seen.frames.masked_fill(seen.padding[..., None], 0).sum(1)
        mean = total / seen.lengths[:, None]
        return State(mean=mean, memory=self.lstm.empty(mean))

    def decode(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        mean = state["mean"].unsqueeze(1).expand(-1, words.shape[1], -1)
        hidden, memory = self.lstm.go_on(torch.cat([mean, words], dim=-1), state["memory"])
        return hidden, State(mean=state["mean"], memory=memory)


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


def build_decoder(config: CaptionerConfig) -> Decoder:
    sizes = (config.hidden, config.embedding, config.hidden)
    if config.kind == "mean-pooling":
        return MeanPooling(*sizes)
    if config.kind == "soft-attention":
        return SoftAttention(*sizes)
    decoder = S2VT(*sizes, config.dropout, directions=2 if config.kind == "bi-s2vt" else 1)
    decoder.listen(config.forget_bias, config.visual_gain)
    return decoder
