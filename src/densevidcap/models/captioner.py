"""The sentence model: streams of a region-sequence in, words out (Sec. 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from math import sqrt
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.config import CaptionerConfig
from densevidcap.config_files import build_section
from densevidcap.data.text import Vocabulary, match_words
from densevidcap.errors import ModelError
from densevidcap.model_folder import build_model, load_model, save_model
from densevidcap.models.decoders import State, build_decoder, shuffle
from densevidcap.models.device import round_up
from densevidcap.models.fusion import StreamFusion, StreamProjection, Streams
from densevidcap.models.streams import find_stream

KIND = "captioner"
VOCABULARY = "vocabulary.json"
LINE = 16
"""Numbers that begin where a line of the cache does: 64 bytes of 32 bits each."""


@dataclass(frozen=True)
class StreamWidths:
    """The streams that a captioner takes, with how wide each is in its corpus."""

    frame_level: dict[str, int]
    """Streams of one vector a frame: name to width."""
    clip_level: dict[str, int] = field(default_factory=dict)
    """Streams of one vector for all frames: name to width."""

    def __post_init__(self) -> None:
        if not self.frame_level:
            raise ModelError("frame_level must name at least one stream")
        if self.frame_level.keys() & self.clip_level.keys():
            raise ModelError("a stream is either in frame_level or in clip_level, not in both")


class CaptionModel(nn.Module):
    """A sentence model under one vocabulary (V words).

    Sentences (N, L) are ids of words, from `<bos>` to `<eos>` and `<pad>`. `stream_dropout`, stream
    to its share of rows that train without it, matters in training alone.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        config: CaptionerConfig,
        widths: StreamWidths,
        stream_dropout: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__()
        self.vocabulary, self.config, self.widths = vocabulary, config, widths
        self.fusion = StreamFusion(
            widths.frame_level,
            widths.clip_level,
            config.hidden,
            config.dropout,
            stream_dropout or {},
        )
        self.decoder = build_decoder(config)
        self.anchor = (
            nn.Linear(config.hidden, config.embedding)
            if config.anchor and widths.clip_level
            else None
        )
        self.words = nn.Embedding(len(vocabulary), config.embedding)
        nn.init.normal_(self.words.weight, std=1 / sqrt(config.embedding))
        self.choice = nn.Linear(config.hidden, config.embedding)
        self.bias = nn.Parameter(torch.zeros(len(vocabulary)))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, streams: Streams, words: Tensor) -> Tensor:
        """Logits (N, L, V) of the word after each of the words (N, L)."""
        return self.project(self.decode(self.encode(streams, words.shape[1]), words)[0])

    def project(self, hidden: Tensor) -> Tensor:
        """Hidden vectors (…, H) to logits (…, V)."""
        return F.linear(self.choice(self.dropout(hidden)), self.words.weight, self.bias)

    def encode(self, streams: Streams, steps: int) -> State:
        """The state before the first word, for so many words at most."""
        seen = self.fusion(streams)
        if self.config.order == "random":
            seen = replace(seen, frames=shuffle(seen.frames, seen.lengths, self.training))
        state = self.decoder.encode(seen, steps)
        if self.anchor is not None:
            joined = self.decoder.speaker.end_gates(self.anchor(seen.whole))
            state.ahead = state.ahead + joined.unsqueeze(1)
        return state

    def decode(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        """Hidden vectors (N, L, H) after the words (N, L), and the state after the last."""
        return self.decoder.decode(state, self._read(words))

    def _read(self, words: Tensor) -> Tensor:
        """Embedded words (…, E)."""
        # The table starts as small as choosing needs it; reading needs words of size 1.
        embedded: Tensor = self.dropout(self.words(words) * sqrt(self.config.embedding))
        return embedded

    @torch.no_grad()
    def step(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        """Log-probabilities (N, V) of the word after the words (N,), and the state after these."""
        said, places = words.unique(return_inverse=True)  # type: ignore[no-untyped-call]
        if words.device.type != "cpu" or not torch.is_autocast_enabled("cpu"):
            hidden, after = self.decoder.step(state, self._read(said), places)
            return self._choose(hidden[:, 0]), after
        rows = torch.arange(round_up(len(words)), device=words.device).clamp(max=len(words) - 1)
        said = F.pad(said, (0, round_up(len(said)) - len(said)))
        hidden, after = self.decoder.step(state.select(rows), self._read(said), places[rows])
        whole = slice(len(words))
        return self._choose(hidden[:, 0])[whole], after.select(whole)

    def _choose(self, hidden: Tensor) -> Tensor:
        """Log-probabilities (N, V) by hidden vectors (N, H), as of `project`.

        Rows begin at whole lines of the CPU's cache: its products take two thirds of the time then.
        """
        chosen: Tensor = self.choice(hidden)
        if chosen.dtype != self.bias.dtype:
            logits = F.linear(chosen, self.words.weight, self.bias)
            return logits.log_softmax(-1, dtype=self.bias.dtype)
        size = len(self.bias)
        logits = chosen.new_empty(len(chosen), -(-size // LINE) * LINE)
        logits[:, size:] = -torch.inf
        torch.addmm(self.bias, chosen, self.words.weight.t(), out=logits[:, :size])
        return logits.log_softmax(-1)[:, :size]

    def loss(
        self,
        streams: Streams,
        sentences: Tensor,
        label_smoothing: float = 0.0,
        owners: Tensor | None = None,
    ) -> Tensor:
        """Mean cross-entropy of the words of sentences (N, L).

        Owners (N,) are the streams' sequences that sentences are of, where several share one.
        """
        targets = sentences[:, 1:]
        said = targets != Vocabulary.PAD
        state = self.encode(streams, targets.shape[1])
        shared = state if owners is None else state.select(owners)
        hidden, _ = self.decode(shared, sentences[:, :-1])
        # Only real words go through the widest layer: padding is about half of a batch.
        wanted, spoken = targets[said], hidden[said]
        if spoken.dtype == torch.bfloat16 and spoken.device.type == "cpu":
            # Of few different numbers: each has its own code in memory (`round_up`).
            more = round_up(len(spoken)) - len(spoken)
            wanted = F.pad(wanted, (0, more), value=Vocabulary.PAD)
            spoken = F.pad(spoken, (0, 0, 0, more))
        return F.cross_entropy(
            self.project(spoken),
            wanted,
            ignore_index=Vocabulary.PAD,
            label_smoothing=label_smoothing,
        )

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
        described = {"captioner": asdict(self.config), "streams": asdict(self.widths)}
        content = {"kind": KIND, **described, **card}
        save_model(folder, tensors, content, (VOCABULARY, *files))

    @classmethod
    def load(cls, folder: Path) -> CaptionModel:
        tensors, card = load_model(folder)
        if card.get("kind") != KIND:
            raise ModelError(f"{folder}: holds a {card.get('kind')}, not a captioner")
        vocabulary = Vocabulary.load(folder / VOCABULARY)

        def build() -> CaptionModel:
            config = build_section(str(folder), CaptionerConfig, card["captioner"])
            return cls(vocabulary, config, StreamWidths(**card["streams"]))

        return build_model(folder, tensors, card, build)


@torch.no_grad()
def warm_start(model: CaptionModel, folder: Path) -> None:
    """Take over all that the captioner in the folder knows and the model can use.

    Words that both have keep their rows of the table. Streams of the corpus begin as if they were
    absent, which a captioner with stream dropout has learned to do without.
    """
    trained = CaptionModel.load(folder)
    known = trained.state_dict()
    here, there = match_words(model.vocabulary.words, trained.vocabulary.words)
    of_corpus = {name for name in model.fusion.whole if find_stream(name).of_corpus}
    strange = tuple(f"fusion.whole.{stream}." for stream in of_corpus)
    for name, tensor in model.state_dict().items():
        if name not in known or (name.startswith(strange) and not name.endswith(".absent")):
            continue
        if name in ("words.weight", "bias"):
            _check(folder, name, tensor[0], known[name][0])
            tensor[here] = known[name][there]
        else:
            _check(folder, name, tensor, known[name])
            tensor.copy_(known[name])
    for stream, projection in model.fusion.whole.items():
        if stream in of_corpus:
            assert isinstance(projection, StreamProjection)
            projection.linear.weight.zero_()
            projection.linear.bias.copy_(projection.absent)


def _check(folder: Path, name: str, ours: torch.Tensor, theirs: torch.Tensor) -> None:
    if ours.shape != theirs.shape:
        raise ModelError(
            f"{folder}: its captioner has other sizes than the config's ({name} is "
            f"{tuple(theirs.shape)}, not {tuple(ours.shape)}); set [captioner] as in its card"
        )
