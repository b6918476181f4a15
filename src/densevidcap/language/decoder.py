"""What every sentence model has in common: it sees, then goes on word by word."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from densevidcap.language.streams import Seen


class State(dict[str, Tensor]):
    """What a model remembers between two words: tensors whose first axis is the rows N."""

    def select(self, rows: Tensor) -> State:
        return State({name: tensor[rows] for name, tensor in self.items()})


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
