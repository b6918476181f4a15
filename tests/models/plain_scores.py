"""Likelihoods sentence by sentence, to hold faster ways against."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from densevidcap.data.text import Vocabulary
from densevidcap.models.captioner import CaptionModel
from densevidcap.models.streams import Streams


@torch.inference_mode()
def score(captioner: CaptionModel, streams: Streams, sentences: Sequence[Sequence[int]]) -> Tensor:
    """(N,): log P(sentence | streams), for one sentence (as in `Sentence.words`) a row."""
    signed = [torch.tensor([Vocabulary.BOS, *words, Vocabulary.EOS]) for words in sentences]
    padded = pad_sequence(signed, batch_first=True, padding_value=Vocabulary.PAD)
    return captioner.log_likelihood(streams, padded)
