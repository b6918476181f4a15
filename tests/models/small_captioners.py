"""Captioners of a few units with random weights, and streams for them."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from densevidcap.config import CaptionerConfig
from densevidcap.data.text import Vocabulary
from densevidcap.models.captioner import CaptionModel, StreamWidths
from densevidcap.models.fusion import Streams

Kind = Literal["bi-s2vt", "s2vt", "mean-pooling", "soft-attention"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SENTENCES = ("a dog runs on grass", "two cats sleep", "a man plays a guitar", "a dog sleeps")
FRAME_STREAMS, WHOLE_STREAMS = {"regions": 5, "global": 3}, {"words": 7, "category": 4}


def make_captioner(
    kind: Kind = "bi-s2vt",
    vocabulary: Vocabulary | None = None,
    seed: int = 0,
    anchor: bool = True,
    stream_dropout: dict[str, float] | None = None,
) -> CaptionModel:
    """In evaluation mode, with doubles: what should be equal is so to many digits."""
    torch.manual_seed(seed)
    captioner = CaptionModel(
        vocabulary or Vocabulary.build(SENTENCES),
        CaptionerConfig(kind=kind, hidden=16, embedding=8, dropout=0.0, anchor=anchor),
        StreamWidths(FRAME_STREAMS, WHOLE_STREAMS),
        stream_dropout,
    )
    for parameter in captioner.parameters():
        # Larger than at the start of a training, so that every input changes the sentence.
        torch.nn.init.normal_(parameter, std=0.6)
    return captioner.double().eval()


def make_streams(lengths: list[int], frames: int | None = None, seed: int = 0) -> Streams:
    """Random streams of these lengths, in `frames` steps: padding is as random as the rest."""
    generator = torch.Generator().manual_seed(seed)
    rows, steps = len(lengths), frames or max(lengths)

    def draw(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float64)

    return Streams(
        {name: draw(rows, steps, features) for name, features in FRAME_STREAMS.items()},
        {name: draw(rows, features) for name, features in WHOLE_STREAMS.items()},
        torch.tensor(lengths),
    )


def encode_sentences(vocabulary: Vocabulary) -> Tensor:
    """(N, L): the sentences in numbers, padded."""
    numbers = [torch.tensor(vocabulary.encode(sentence)) for sentence in SENTENCES]
    return torch.nn.utils.rnn.pad_sequence(numbers, batch_first=True)
