"""The Lexical-FCN: which word belongs to which region of a frame (Sec. 3.1)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval

from densevidcap.data.lexicon import Lexicon
from densevidcap.data.text import match_words
from densevidcap.errors import ModelError
from densevidcap.model_folder import build_model, load_model, save_model
from densevidcap.models.backbones import BACKBONES, build_backbone
from densevidcap.models.backbones.vgg import VGG16
from densevidcap.types import FloatArray, FrameGrid, Frames, Grid, UInt8Array

STRIDE = 32
"""Pixels to one cell of a backbone's map."""
LARGEST = 2048
"""Pixels of a frame's side; thirty such frames take 400 MB before anything is computed."""


@dataclass(frozen=True)
class EncoderOptions:
    """Which network looks at a frame, and how its map is cut into regions."""

    backbone: str = "lite2"
    size: int = 320
    """Side of the square that a frame is resized to, in pixels."""
    window: int = 4
    """Side of a region in cells of the map. The paper's is 7, at stride 1."""
    stride: int = 2

    def __post_init__(self) -> None:
        if self.backbone not in BACKBONES:
            raise ModelError(f"no backbone '{self.backbone}': choose one of {', '.join(BACKBONES)}")
        if min(self.window, self.stride) < 1:
            raise ModelError("window and stride must be at least 1 cell")
        if not STRIDE <= self.size <= LARGEST:
            raise ModelError(f"size must be from {STRIDE} to {LARGEST} pixels, not {self.size}")
        if self.size % STRIDE:
            raise ModelError(f"size must be a multiple of {STRIDE} pixels, not {self.size}")
        if self.backbone == "vgg16" and (self.window, self.stride) != (VGG16.window, 1):
            raise ModelError("vgg16 looks through fc6's window: set window = 7 and stride = 1")
        if self.window * STRIDE > self.size:
            raise ModelError(f"a window of {self.window} cells does not fit {self.size} pixels")

    @property
    def grid(self) -> Grid:
        cells = self.size // STRIDE
        return Grid(cells, cells, self.window, self.stride)


class RegionEncoder(nn.Module):
    """Frames (B, 3, H, W) with values 0 to 255 to region features (B, R, D)."""

    def __init__(self, options: EncoderOptions) -> None:
        super().__init__()
        self.options = options
        self.backbone = build_backbone(options.backbone)

    @property
    def channels(self) -> int:
        return self.backbone.channels

    def forward(self, frames: Tensor) -> Tensor:
        return self.finish(frames, stage=0)

    def begin(self, frames: Tensor, stage: int) -> Tensor:
        """The map (B, C, h, w) that goes into the backbone's stage of that number."""
        for earlier in self.backbone.stages()[:stage]:
            frames = earlier.run(frames)
        return frames

    def finish(self, x: Tensor, stage: int) -> Tensor:
        """The rest of the way, from the input of that stage to regions (B, R, D)."""
        for later in self.backbone.stages()[stage:]:
            x = later.run(x)
        if self.backbone.window is None:
            x = F.avg_pool2d(x, self.options.window, self.options.stride)
        return x.flatten(2).transpose(1, 2)


def fold_batch_norms(module: nn.Module) -> nn.Module:
    """A copy for inference in which every convolution has absorbed the norm that follows it.

    A norm follows a convolution when it is registered right after it, which
    holds for every network here.
    """
    module = copy.deepcopy(module).eval()
    for parent in list(module.modules()):
        for (name, first), (norm_name, second) in pairwise(list(parent.named_children())):
            if isinstance(first, nn.Conv2d) and isinstance(second, nn.BatchNorm2d):
                setattr(parent, name, fuse_conv_bn_eval(first, second))
                setattr(parent, norm_name, nn.Identity())
    return module


BATCH = 4
"""Frames a forward pass. Small on purpose: 16 at a time leave the CPU's cache and take three
times as long a frame."""


class FastEncoder:
    """A RegionEncoder made ready for a CPU: norms folded, channels last, small batches."""

    def __init__(self, encoder: RegionEncoder) -> None:
        self._encoder = fold_batch_norms(encoder)
        self._encoder.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def __call__(self, images: UInt8Array) -> FloatArray:
        """(T, H, W, 3) RGB to region features (T, R, D)."""
        return self._run(images, None)

    def begin(self, images: UInt8Array, stage: int) -> FloatArray:
        """(T, H, W, 3) RGB to the cells (T, h * w, C) of the map that goes into a stage."""
        return self._run(images, stage)

    @torch.inference_mode()
    def _run(self, images: UInt8Array, stage: int | None) -> FloatArray:
        encoder = self._encoder
        assert isinstance(encoder, RegionEncoder)
        parts = []
        for start in range(0, len(images), BATCH):
            batch = torch.from_numpy(np.ascontiguousarray(images[start : start + BATCH]))
            # An (N, H, W, 3) array seen as (N, 3, H, W) is channels-last already.
            frames = batch.permute(0, 3, 1, 2).float()
            if stage is None:
                parts.append(encoder(frames))
            else:
                parts.append(encoder.begin(frames, stage).flatten(2).transpose(1, 2))
        return np.asarray(torch.cat(parts).numpy())


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
