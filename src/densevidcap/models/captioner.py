"""A captioner that starts from a trained one, though its words and streams are others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.data.text import Vocabulary, match_words
from densevidcap.errors import ModelError
from densevidcap.model_folder import build_model, load_model, save_model
from densevidcap.models.decoders import S2VT, Decoder, MeanPooling, SoftAttention, State
from densevidcap.models.streams import StreamFusion, StreamProjection, Streams, find_stream

KIND = "captioner"
VOCABULARY = "vocabulary.json"

Kind = Literal["bi-s2vt", "s2vt", "mean-pooling", "soft-attention"]


@dataclass(frozen=True)
class CaptionModelOptions:
    """The paper's plain model: one frame stream, no whole stream, `anchor` false."""

    kind: Kind = "bi-s2vt"
    hidden: int = 512
    """Width of the projected streams and of each model's LSTMs."""
    embedding: int = 300
    """Width of a word, where it is read and where it is chosen: both share one table, which rare
    words need and which halves the model."""
    dropout: float = 0.5
    """Share of all connections but the recurrent ones left out of a step. The paper's "ratio 0.9"
    is, in the style of Zaremba et al., a probability to keep."""
    stream_dropout: dict[str, float] = field(default_factory=dict)
    """Stream to its share of rows that train without it. A stream that says most by itself would
    keep the others from being used."""
    anchor: bool = True
    """Whether the whole streams join every word, so that the topic is not lost on the way through
    the frames. In the paper's model they can only come in with the frames."""
    frame_streams: dict[str, int] = field(default_factory=lambda: {"regions": 1280})
    """Streams of one vector a frame: name to width."""
    whole_streams: dict[str, int] = field(default_factory=dict)
    """Streams of one vector for all frames: name to width."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ModelError(f"no kind '{self.kind}': choose one of {', '.join(get_args(Kind))}")
        if min(self.hidden, self.embedding) < 1:
            raise ModelError("hidden and embedding must be at least 1")
        if self.kind == "bi-s2vt" and self.hidden % 2:
            raise ModelError(f"hidden is shared by two directions: {self.hidden} must be even")
        if not self.frame_streams:
            raise ModelError("frame_streams must name at least one stream")
        streams = {**self.frame_streams, **self.whole_streams}
        if len(streams) < len(self.frame_streams) + len(self.whole_streams):
            raise ModelError("a stream is either in frame_streams or in whole_streams, not in both")
        for name in self.stream_dropout:
            if name not in streams:
                raise ModelError(f"stream_dropout has '{name}'; streams are {', '.join(streams)}")
        for share in (self.dropout, *self.stream_dropout.values()):
            if not 0 <= share < 1:
                raise ModelError(f"dropout must be from 0 to below 1, not {share}")


def build_decoder(options: CaptionModelOptions) -> Decoder:
    sizes = (options.hidden, options.embedding, options.hidden)
    if options.kind == "mean-pooling":
        return MeanPooling(*sizes)
    if options.kind == "soft-attention":
        return SoftAttention(*sizes)
    return S2VT(*sizes, options.dropout, directions=2 if options.kind == "bi-s2vt" else 1)


class CaptionModel(nn.Module):
    """A sentence model under one vocabulary (V words).

    Sentences (N, L) are numbers of words, from `<bos>` to `<eos>` and `<pad>`.
    """

    def __init__(self, vocabulary: Vocabulary, options: CaptionModelOptions) -> None:
        super().__init__()
        self.vocabulary, self.options = vocabulary, options
        self.fusion = StreamFusion(
            options.frame_streams,
            options.whole_streams,
            options.hidden,
            options.dropout,
            options.stream_dropout,
        )
        self.decoder = build_decoder(options)
        self.anchor = (
            nn.Linear(options.hidden, options.embedding)
            if options.anchor and options.whole_streams
            else None
        )
        self.words = nn.Embedding(len(vocabulary), options.embedding)
        nn.init.normal_(self.words.weight, std=1 / sqrt(options.embedding))
        self.choice = nn.Linear(options.hidden, options.embedding)
        self.bias = nn.Parameter(torch.zeros(len(vocabulary)))
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, streams: Streams, words: Tensor) -> Tensor:
        """Logits (N, L, V) of the word after each of the words (N, L)."""
        return self.project(self.follow(streams, words))

    def follow(self, streams: Streams, words: Tensor) -> Tensor:
        """Hidden vectors (N, L, H), each of which decides the word after."""
        return self.decode(self.encode(streams), words)[0]

    def project(self, hidden: Tensor) -> Tensor:
        """Hidden vectors (…, H) to logits (…, V)."""
        return F.linear(self.choice(self.dropout(hidden)), self.words.weight, self.bias)

    def encode(self, streams: Streams) -> State:
        """The state before the first word."""
        seen = self.fusion(streams)
        state = self.decoder.encode(seen)
        if self.anchor is not None:
            state["anchor"] = self.anchor(seen.whole)
        return state

    def decode(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        """Hidden vectors (N, L, H) after the words (N, L), and the state after the last."""
        # The table starts as small as choosing needs it; reading needs words of size 1.
        inputs = self.dropout(self.words(words) * sqrt(self.options.embedding))
        if self.anchor is None:
            return self.decoder.decode(state, inputs)
        hidden, after = self.decoder.decode(state, inputs + state["anchor"].unsqueeze(1))
        after["anchor"] = state["anchor"]
        return hidden, after

    def step(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        """Log-probabilities (N, V) of the word after the words (N,), and the state after these."""
        hidden, after = self.decode(state, words.unsqueeze(1))
        return self.project(hidden[:, 0]).log_softmax(-1), after

    def loss(self, streams: Streams, sentences: Tensor, label_smoothing: float = 0.0) -> Tensor:
        """Mean cross-entropy of the words of sentences (N, L)."""
        targets = sentences[:, 1:]
        said = targets != Vocabulary.PAD
        hidden = self.follow(streams, sentences[:, :-1])
        # Only real words go through the widest layer: padding is about half of a batch.
        logits = self.project(hidden[said])
        return F.cross_entropy(logits, targets[said], label_smoothing=label_smoothing)

    def log_likelihood(self, streams: Streams, sentences: Tensor) -> Tensor:
        """(N,): log P(sentence | streams), of sentences (N, L)."""
        targets = sentences[:, 1:]
        said = targets != Vocabulary.PAD
        logits = self.project(self.follow(streams, sentences[:, :-1])[said])
        each = logits.new_zeros(targets.shape)
        each[said] = -F.cross_entropy(logits, targets[said], reduction="none")
        return each.sum(1)

    def save(
        self,
        folder: Path,
        card: Mapping[str, Any],
        half: bool = False,
        files: tuple[str, ...] = (),
    ) -> None:
        """Write a model folder; `card` adds what the model cannot know (data, figures, licence).

        `half` keeps 16 bits of every number, for half the size. `files` names what the caller has
        put there already.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.vocabulary.save(folder / VOCABULARY)
        tensors = self.state_dict()
        if half:
            tensors = {name: tensor.half() for name, tensor in tensors.items()}
        content = {"kind": KIND, "captioner": asdict(self.options), **card}
        save_model(folder, tensors, content, (VOCABULARY, *files))

    @classmethod
    def load(cls, folder: Path) -> CaptionModel:
        tensors, card = load_model(folder)
        if card.get("kind") != KIND:
            raise ModelError(f"{folder}: holds a {card.get('kind')}, not a captioner")
        vocabulary = Vocabulary.load(folder / VOCABULARY)
        return build_model(
            folder, tensors, lambda: cls(vocabulary, CaptionModelOptions(**card["captioner"]))
        )


@torch.no_grad()
def warm_start(heir: CaptionModel, folder: Path) -> None:
    """Take over all that the captioner in the folder knows and the heir can use.

    Words that both have keep their rows of the table. Streams of the corpus begin as if they were
    absent, which a captioner with stream dropout has learned to do without.
    """
    ancestor = CaptionModel.load(folder)
    known = ancestor.state_dict()
    here, there = match_words(heir.vocabulary.words, ancestor.vocabulary.words)
    of_corpus = {name for name in heir.fusion.whole if find_stream(name).of_corpus}
    strange = tuple(f"fusion.whole.{stream}." for stream in of_corpus)
    for name, tensor in heir.state_dict().items():
        if name not in known or (name.startswith(strange) and not name.endswith(".absent")):
            continue
        if name in ("words.weight", "bias"):
            _check(folder, name, tensor[0], known[name][0])
            tensor[here] = known[name][there]
        else:
            _check(folder, name, tensor, known[name])
            tensor.copy_(known[name])
    for stream, projection in heir.fusion.whole.items():
        if stream in of_corpus:
            assert isinstance(projection, StreamProjection)
            projection.linear.weight.zero_()
            projection.linear.bias.copy_(projection.absent)


def _check(folder: Path, name: str, ours: torch.Tensor, theirs: torch.Tensor) -> None:
    if ours.shape != theirs.shape:
        raise ModelError(
            f"{folder}: its captioner has other sizes than the recipe's ({name} is "
            f"{tuple(theirs.shape)}, not {tuple(ours.shape)}); set [captioner] as in its card"
        )
