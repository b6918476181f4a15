"""The evaluator network (supplement): how well a sentence fits a clip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from densevidcap.config import EvaluatorConfig
from densevidcap.data.text import Vocabulary, tokenise
from densevidcap.errors import CorpusError, ModelError
from densevidcap.model_folder import build_model, load_model, save_model
from densevidcap.models.device import device_of
from densevidcap.models.fusion import StreamProjection
from densevidcap.models.views import ClipView
from densevidcap.types import FloatArray

CLIP_STREAMS = ("clip", "clip_words")
"""The mean of its frames (D,); the roots of its word probabilities (V,)."""
SEQUENCE_STREAMS = ("centred", "special_words")
"""What sets each sequence apart: its mean region minus the clip's mean (K, D); the roots of its
word probabilities minus their mean over the clip's sequences (K, V)."""

ClipFeatures = Mapping[str, npt.NDArray[np.float16]]
"""A clip's streams by name. 16 bits are what the views of a corpus are kept in."""


def gather(view: ClipView) -> ClipFeatures:
    features = np.asarray(view.features, np.float32)
    frames = np.arange(len(features))
    clip = features.mean(axis=(0, 1))
    words = np.sqrt(np.asarray(view.sequence_words, np.float32))
    streams = {
        "clip": clip,
        "clip_words": np.sqrt(np.asarray(view.clip_words, np.float32)),
        "centred": features[frames, view.paths].mean(axis=1) - clip,
        "special_words": words - words.mean(axis=0),
    }
    return {name: stream.astype(np.float16) for name, stream in streams.items()}


class FeatureBank:
    """The evidence of C clips of K sequences each, side by side."""

    def __init__(self, clips: Sequence[ClipFeatures]) -> None:
        self._streams = {
            name: torch.from_numpy(np.stack([clip[name] for clip in clips]))
            for name in (*CLIP_STREAMS, *SEQUENCE_STREAMS)
        }

    def take(self, clips: Tensor, sequences: Tensor | None = None) -> dict[str, Tensor]:
        """Streams (N, …) of the clips (N,), with those of their sequences (N,) if named.

        The bank itself stays in main memory; what is taken goes where `clips` are.
        """
        device, rows = clips.device, clips.cpu()
        taken = {name: self._streams[name][rows].float().to(device) for name in CLIP_STREAMS}
        if sequences is not None:
            places = sequences.cpu()
            for name in SEQUENCE_STREAMS:
                taken[name] = self._streams[name][rows, places].float().to(device)
        return taken


LOGIT_SCALE = 1 / 0.07
"""What cosines are multiplied by before the first step; it is learned."""
LARGEST_SCALE = 100.0


class ClipEncoder(nn.Module):
    """Streams (N, D or V) of clips, and of their sequences if given, to directions (N, E)."""

    def __init__(self, features: int, words: int, config: EvaluatorConfig) -> None:
        super().__init__()
        sizes = {"clip": features, "clip_words": words}
        sizes |= {"centred": features, "special_words": words}
        shares = dict.fromkeys(SEQUENCE_STREAMS, config.sequence_dropout)
        self.streams = nn.ModuleDict(
            {
                name: StreamProjection(sizes[name], config.hidden, shares.get(name, 0.0))
                for name in (*CLIP_STREAMS, *SEQUENCE_STREAMS)
            }
        )
        self.dropout = nn.Dropout(config.dropout)
        self.linear = nn.Linear(config.hidden, config.width)

    def forward(self, streams: Mapping[str, Tensor]) -> Tensor:
        hidden = sum(project(streams.get(name)) for name, project in self.streams.items())
        return F.normalize(self.linear(self.dropout(F.relu(hidden))), dim=-1)


class SentenceEncoder(nn.Module):
    """Ids of words (N, L), from `<bos>` to `<eos>` and `<pad>`, to directions (N, E).

    The mean word says what a sentence is about, the strongest runs of three words who does what.
    No word waits for the one before it, as in a recurrent network, which training on a CPU feels.
    """

    def __init__(self, vocabulary: int, config: EvaluatorConfig) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, config.embedding, padding_idx=Vocabulary.PAD)
        self.runs = nn.Linear(3 * config.embedding, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.linear = nn.Linear(config.embedding + config.hidden, config.width)

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
    """Scores are cosines; `logit_scale` makes logits of them."""

    def __init__(
        self, vocabulary: Vocabulary, features: int, words: int, config: EvaluatorConfig
    ) -> None:
        super().__init__()
        self.vocabulary, self.config, self.sizes = vocabulary, config, (features, words)
        self.clips = ClipEncoder(features, words, config)
        self.sentences = SentenceEncoder(len(vocabulary), config)
        self.log_scale = nn.Parameter(torch.tensor(log(LOGIT_SCALE)))

    @property
    def logit_scale(self) -> Tensor:
        return self.log_scale.exp().clamp(max=LARGEST_SCALE)


KIND = "evaluator"
VOCABULARY = "vocabulary.json"


class NetworkEvaluator:
    """A trained network."""

    def __init__(self, network: EvaluatorNetwork) -> None:
        self.network = network.eval()

    @property
    def inputs(self) -> int:
        return self.network.sizes[1]

    def to(self, device: torch.device) -> None:
        self.network.to(device)

    @torch.inference_mode()
    def score(
        self, view: ClipView, sentences: Sequence[str], sequences: Sequence[int] | None = None
    ) -> FloatArray:
        """(S,): how well each sentence fits the clip, from -1 to 1.

        With `sequences`, one for each sentence, what sets that region-sequence apart counts too.
        """
        if not sentences:
            return np.zeros(0, np.float32)
        if sequences is not None and len(sequences) != len(sentences):
            raise ValueError(f"{len(sentences)} sentences need as many sequences")
        device = device_of(self.network)
        read = encode_sentences(sentences, self.network.vocabulary).to(device)
        said = self.network.sentences(read)
        count = 1 if sequences is None else len(sentences)
        rows = torch.zeros(count, dtype=torch.long, device=device)
        chosen = None if sequences is None else torch.tensor(list(sequences), device=device)
        seen = self.network.clips(FeatureBank([gather(view)]).take(rows, chosen))
        return np.asarray((said * seen).sum(-1).clamp(-1, 1).cpu().numpy())

    def save(self, folder: Path, card: Mapping[str, Any], half: bool = False) -> None:
        """Write a model folder; `half` keeps 16 bits of every number."""
        folder.mkdir(parents=True, exist_ok=True)
        self.network.vocabulary.save(folder / VOCABULARY)
        tensors = self.network.state_dict()
        if half:
            tensors = {name: tensor.half() for name, tensor in tensors.items()}
        content = {
            "kind": KIND,
            "sizes": self.network.sizes,
            "evaluator": asdict(self.network.config),
            **card,
        }
        save_model(folder, tensors, content, (VOCABULARY,))

    @classmethod
    def load(cls, folder: Path) -> NetworkEvaluator:
        tensors, card = load_model(folder)
        if card.get("kind") != KIND:
            raise ModelError(f"{folder}: holds a {card.get('kind')}, not an evaluator")
        vocabulary = Vocabulary.load(folder / VOCABULARY)

        def build() -> EvaluatorNetwork:
            features, words = card["sizes"]
            config = EvaluatorConfig(**card["evaluator"])
            return EvaluatorNetwork(vocabulary, features, words, config)

        return cls(build_model(folder, tensors, card, build))


def encode_sentences(sentences: Sequence[str], vocabulary: Vocabulary) -> Tensor:
    """(S, L) ids of words, padded."""
    for sentence in sentences:
        if not tokenise(sentence):
            raise CorpusError(f"{sentence!r}: a sentence without words has no score; leave it out")
    return pad([vocabulary.encode(sentence) for sentence in sentences])


def pad(sentences: Sequence[Sequence[int]]) -> Tensor:
    rows = [torch.tensor(words, device="cpu") for words in sentences]
    return pad_sequence(rows, batch_first=True, padding_value=Vocabulary.PAD)
