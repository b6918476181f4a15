"""The Lexical-FCN: which word belongs to which region of a frame (Sec. 3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.artefacts import build_model, load_model, save_model
from densevidcap.data.lexicon import Lexicon
from densevidcap.data.text import match_words
from densevidcap.errors import ModelError
from densevidcap.lexical.encoder import EncoderOptions, FastEncoder, RegionEncoder
from densevidcap.records import FloatArray, FrameGrid, Frames

KIND = "lexical-fcn"
LEXICON = "lexicon.json"


@dataclass(frozen=True)
class HeadOptions:
    """From a region's feature to its words."""

    hidden: int = 1024
    """Units of a layer that all words share; 0 is the paper's Eq. 3, one linear map a word."""
    shaping: int = 1000
    """Only that many of the most frequent words shape the shared layer and what lies below it; the
    others, with a handful of clips each, read it. Left to themselves they make it learn clips by
    heart."""
    dropout: float = 0.7
    """Share of the shared layer (of the features, where there is none) left out of a step."""

    def __post_init__(self) -> None:
        if min(self.hidden, self.shaping) < 0:
            raise ModelError("hidden and shaping must be 0 or more")
        if not 0 <= self.dropout < 1:
            raise ModelError(f"dropout must be from 0 to below 1, not {self.dropout}")


class WordHead(nn.Module):
    """Region features (…, D) to word logits (…, W): Eq. 3 before its sigmoid."""

    def __init__(self, features: int, words: int, options: HeadOptions) -> None:
        super().__init__()
        self.options = options
        if options.hidden:
            self.shared = nn.Linear(features, options.hidden)
        self.words = nn.Linear(options.hidden or features, words)

    def forward(self, x: Tensor) -> Tensor:
        if self.options.hidden:
            x = F.relu(self.shared(x))
        x = F.dropout(x, self.options.dropout, self.training)
        weight, bias, shaping = self.words.weight, self.words.bias, self.options.shaping
        frequent = F.linear(x, weight[:shaping], bias[:shaping])
        rare = F.linear(x.detach(), weight[shaping:], bias[shaping:])
        return torch.cat([frequent, rare], dim=-1)

    @torch.no_grad()
    def start_from_priors(self, priors: Tensor, instances: float) -> None:
        """Begin where a bag of that many instances has each word's prior (W,) as its probability.

        Most words are rare: from zero biases the noisy-OR of 16 regions starts
        near 1 for every word, and training is spent on unlearning that.
        """
        priors = priors.clamp(1e-5, 0.999)
        each = 1 - (1 - priors) ** (1 / instances)
        self.words.bias.copy_(torch.logit(each))
        nn.init.normal_(self.words.weight, std=0.01)


class LexicalFCN(nn.Module):
    """Encoder and word head under one lexicon."""

    def __init__(self, lexicon: Lexicon, encoder: EncoderOptions, head: HeadOptions) -> None:
        super().__init__()
        self.lexicon = lexicon
        self.encoder = RegionEncoder(encoder)
        self.head = WordHead(self.encoder.channels, len(lexicon), head)
        self._fast: FastEncoder | None = None

    @torch.no_grad()
    def keep_words(self, known: LexicalFCN) -> None:
        """Take over the other's shared layer, and what it knows of the words that both have."""
        if self.head.options.hidden != known.head.options.hidden:
            raise ModelError(
                f"words can be kept only by a head of the same size: hidden is "
                f"{self.head.options.hidden}, that of the known words {known.head.options.hidden}"
            )
        here, there = match_words(self.lexicon.words, known.lexicon.words)
        ours, theirs = self.head.state_dict(), known.head.state_dict()
        for name, tensor in ours.items():
            if name.startswith("words."):
                tensor[here] = theirs[name][there]
            else:
                tensor.copy_(theirs[name])

    def forward(self, frames: Tensor) -> Tensor:
        """(B, 3, H, W) with values 0 to 255 to word logits (B, R, W)."""
        logits: Tensor = self.head(self.encoder(frames))
        return logits

    def read(self, frames: Frames) -> FrameGrid:
        """Every region's features and word probabilities, for frames at the encoder's size."""
        if self._fast is None:
            self._fast = FastEncoder(self.encoder)
        return self.describe(self._fast(frames.images), frames.times)

    @torch.inference_mode()
    def describe(self, features: FloatArray, times: np.ndarray[Any, Any]) -> FrameGrid:
        """The same from region features (T, R, D) that were computed before."""
        self.head.eval()
        probabilities = torch.sigmoid(self.head(torch.from_numpy(features))).numpy()
        return FrameGrid(self.encoder.options.grid, times, probabilities, features)

    def save(self, folder: Path, card: Mapping[str, Any], half: bool = False) -> None:
        """Write a model folder; `card` adds what the model cannot know (data, figures, licence).

        `half` keeps 16 bits of every number: half the size, the same words.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.lexicon.save(folder / LEXICON)
        options = {"encoder": asdict(self.encoder.options), "head": asdict(self.head.options)}
        tensors = self.state_dict()
        if half:
            tensors = {n: t.half() if t.is_floating_point() else t for n, t in tensors.items()}
        save_model(folder, tensors, {"kind": KIND, **options, **card}, (LEXICON,))

    @classmethod
    def load(cls, folder: Path) -> LexicalFCN:
        tensors, card = load_model(folder)
        if card.get("kind") != KIND:
            raise ModelError(f"{folder}: holds a {card.get('kind')}, not a Lexical-FCN")
        lexicon = Lexicon.load(folder / LEXICON)
        return build_model(
            folder,
            tensors,
            lambda: cls(lexicon, EncoderOptions(**card["encoder"]), HeadOptions(**card["head"])),
        )
