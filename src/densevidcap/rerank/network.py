"""The evaluator network: clips and sentences as directions in one space (supplement)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.data.text import Vocabulary
from densevidcap.errors import ModelError
from densevidcap.language.streams import StreamProjection
from densevidcap.rerank.evidence import CLIP_STREAMS, SEQUENCE_STREAMS

SHARPNESS = 1 / 0.07
"""What cosines are multiplied by before the first step; it is learned."""
SHARPEST = 100.0


@dataclass(frozen=True)
class EvaluatorOptions:
    """The network's sizes."""

    width: int = 256
    """E: dimensions of the space in which clips and sentences meet."""
    hidden: int = 256
    """Width of the layer before it, of both."""
    embedding: int = 256
    """Width of a word."""
    dropout: float = 0.5
    sequence_dropout: float = 0.5
    """Share of sentences learned without what sets their region-sequence apart, so that a sentence
    can be scored against the clip alone."""

    def __post_init__(self) -> None:
        for name in ("width", "hidden", "embedding"):
            if getattr(self, name) < 1:
                raise ModelError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("dropout", "sequence_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ModelError(f"{name} must be from 0 to below 1, not {getattr(self, name)}")


class ClipEncoder(nn.Module):
    """Streams (N, D or V) of clips, and of their sequences if given, to directions (N, E)."""

    def __init__(self, features: int, words: int, options: EvaluatorOptions) -> None:
        super().__init__()
        sizes = {"clip": features, "clip_words": words}
        sizes |= {"centred": features, "special_words": words}
        shares = dict.fromkeys(SEQUENCE_STREAMS, options.sequence_dropout)
        self.streams = nn.ModuleDict(
            {
                name: StreamProjection(sizes[name], options.hidden, shares.get(name, 0.0))
                for name in (*CLIP_STREAMS, *SEQUENCE_STREAMS)
            }
        )
        self.dropout = nn.Dropout(options.dropout)
        self.linear = nn.Linear(options.hidden, options.width)

    def forward(self, streams: Mapping[str, Tensor]) -> Tensor:
        hidden = sum(project(streams.get(name)) for name, project in self.streams.items())
        return F.normalize(self.linear(self.dropout(F.relu(hidden))), dim=-1)


class SentenceEncoder(nn.Module):
    """Numbers of words (N, L), from `<bos>` to `<eos>` and `<pad>`, to directions (N, E).

    The mean word says what a sentence is about, the strongest runs of three words who does what.
    No word waits for the one before it, as in a recurrent network, which training on a CPU feels.
    """

    def __init__(self, vocabulary: int, options: EvaluatorOptions) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, options.embedding, padding_idx=Vocabulary.PAD)
        self.runs = nn.Linear(3 * options.embedding, options.hidden)
        self.dropout = nn.Dropout(options.dropout)
        self.linear = nn.Linear(options.embedding + options.hidden, options.width)

    def forward(self, sentences: Tensor) -> Tensor:
        said = sentences != Vocabulary.PAD
        words = self.words(sentences)  # zeros where nothing is said
        mean = words.sum(1) / said.sum(1, keepdim=True)
        around = F.pad(words, (0, 0, 1, 1))
        threes = torch.cat([around[:, :-2], words, around[:, 2:]], dim=-1)
        runs = words.new_zeros(*sentences.shape, self.runs.out_features)
        # Only real words go through the widest layer: padding is about half of a batch.
        runs[said] = F.relu(self.runs(threes[said]))
        hidden = self.dropout(torch.cat([mean, runs.amax(1)], dim=-1))
        return F.normalize(self.linear(hidden), dim=-1)


class EvaluatorNetwork(nn.Module):
    """Scores are cosines; `sharpness` makes logits of them."""

    def __init__(
        self, vocabulary: Vocabulary, features: int, words: int, options: EvaluatorOptions
    ) -> None:
        super().__init__()
        self.vocabulary, self.options, self.sizes = vocabulary, options, (features, words)
        self.clips = ClipEncoder(features, words, options)
        self.sentences = SentenceEncoder(len(vocabulary), options)
        self.log_sharpness = nn.Parameter(torch.tensor(log(SHARPNESS)))

    @property
    def sharpness(self) -> Tensor:
        return self.log_sharpness.exp().clamp(max=SHARPEST)
