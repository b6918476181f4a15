"""Likelihoods sentence by sentence, to hold faster ways against."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from densevidcap.data.text import Vocabulary
from densevidcap.models.captioner import CaptionModel
from densevidcap.models.fusion import Streams


@torch.inference_mode()
def score(captioner: CaptionModel, streams: Streams, sentences: Sequence[Sequence[int]]) -> Tensor:
    """(N,): log P(sentence | streams), for one sentence (as in `Hypothesis.ids`) a row."""
    signed = [torch.tensor([Vocabulary.BOS, *words, Vocabulary.EOS]) for words in sentences]
    padded = pad_sequence(signed, batch_first=True, padding_value=Vocabulary.PAD)
    return log_likelihood(captioner, streams, padded)


def log_likelihood(captioner: CaptionModel, streams: Streams, sentences: Tensor) -> Tensor:
    """(N,): log P(sentence | streams), of sentences (N, L) with their special tokens."""
    targets = sentences[:, 1:]
    logits: Tensor = captioner(streams, sentences[:, :-1])
    each = logits.log_softmax(-1).gather(2, targets.unsqueeze(-1)).squeeze(-1)
    return each.masked_fill(targets == Vocabulary.PAD, 0).sum(1)
