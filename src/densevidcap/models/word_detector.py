"""The Lexical-FCN: which word belongs to which region of a frame (Sec. 3.1)."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval

from densevidcap.config import Engine, EyesConfig, WordsConfig
from densevidcap.data.clip import Size
from densevidcap.data.lexicon import Lexicon
from densevidcap.data.sampling import find_still
from densevidcap.data.text import match_words
from densevidcap.errors import ModelError
from densevidcap.model_folder import build_model, load_model, save_model
from densevidcap.models.backbones import build_backbone
from densevidcap.models.device import computing, device_of, resolve_engine, round_up
from densevidcap.models.shared_eyes import leave_out_eyes, put_back_eyes
from densevidcap.types import (
    FloatArray,
    FrameGrid,
    Frames,
    Grid,
    ImageArray,
    MapShape,
    SourceFrameArray,
    TimeArray,
    WordMaps,
)

Array = TypeVar("Array", Tensor, FloatArray)


class RegionEncoder(nn.Module):
    """Frames (B, 3, H, W) with values 0 to 255 to region features (B, R, D).

    Where others extracted features, frames are maps of them (B, D, rows, columns).
    """

    def __init__(self, config: EyesConfig) -> None:
        super().__init__()
        self.config = config
        self.backbone = build_backbone(config.backbone)
        self.grid = self.backbone.make_grid(config)

    @property
    def channels(self) -> int:
        return self.backbone.count_channels(self.config)

    @property
    def frame_channels(self) -> int:
        """Width of the whole frame's vector, 0 where the backbone has none."""
        return self.channels if self.backbone.has_frame_vector else 0

    @property
    def form(self) -> Size | MapShape:
        """What a clip's frames must be: pictures of a size, or maps of features."""
        return self.backbone.read_shape(self.config) or self.size

    @property
    def size(self) -> Size:
        """Pixels that frames are resized to; a ModelError if it looks at none."""
        if shape := self.backbone.read_shape(self.config):
            raise ModelError(
                f"the model sees features that others extracted, {shape} of a frame;"
                " this needs one that sees pictures"
            )
        return self.config.size, self.config.size

    def forward(self, frames: Tensor) -> Tensor:
        return self.split(self.observe(frames)[0])[0]

    def observe(self, x: Tensor, stage: int = 0) -> tuple[Tensor, Tensor]:
        """Regions (B, R, D), followed by the whole frame's vector where the backbone has one; and
        the patches (B, rows, columns, D) that they are made of.

        From frames, or from what goes into that stage of the backbone.
        """
        x = self.backbone.finish(x, stage)
        patches, frame = self.backbone.read_map(x), self.backbone.frame_vector(x)
        observed = self.backbone.pool(patches, self.config)
        if frame is not None:
            observed = torch.cat([observed, frame.unsqueeze(1)], dim=1)
        return observed, patches

    def split(self, observed: Array) -> tuple[Array, Array | None]:
        """Regions (N, R, D) and frames' vectors (N, D) of what was observed."""
        regions = len(self.grid)
        return observed[:, :regions], observed[:, regions] if self.frame_channels else None

    def train(self, mode: bool = True) -> RegionEncoder:
        """Batch norms, where there are any, keep the statistics that they came with.

        A batch of few clips has none to offer.
        """
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
        return self


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


def choose_numbers(encoder: RegionEncoder, engine: Engine) -> torch.dtype:
    """What an engine computes this encoder's products with, where it is."""
    if engine == "auto" and not encoder.backbone.is_mostly_products:
        engine = "float32"
    return resolve_engine(engine, device_of(encoder))


BATCH = 4
"""Frames a forward pass. Small on purpose: 16 at a time leave the CPU's cache and take three
times as long a frame."""


class FastEncoder:
    """A RegionEncoder for inference: channels last, small batches, and norms folded in a copy.

    One that does the same in training is not copied: its weights are most of a model's memory.
    Its products may be of 16-bit numbers: of what it observes then, no region turns by more than
    an angle whose cosine is .99, and all by .999 on average.
    """

    def __init__(self, encoder: RegionEncoder, engine: Engine = "float32") -> None:
        self.device, self.numbers = device_of(encoder), choose_numbers(encoder, engine)
        kinds = (nn.BatchNorm2d, nn.Dropout)
        is_same_in_training = not any(isinstance(module, kinds) for module in encoder.modules())
        folded = encoder if is_same_in_training else fold_batch_norms(encoder)
        assert isinstance(folded, RegionEncoder)
        self._encoder = folded
        self._encoder.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    @torch.no_grad()
    def observe(self, images: ImageArray) -> tuple[FloatArray, FloatArray]:
        """(T, H, W, 3) RGB, or maps of features, to what the encoder observes, and its patches."""
        with computing(self.numbers, self.device):
            parts = [self._encoder.observe(frames) for frames in self._batches(images)]
        observed, patches = (
            torch.cat(part).float().cpu().numpy() for part in zip(*parts, strict=True)
        )
        return observed, patches

    @torch.no_grad()
    def begin(self, images: ImageArray, stage: int) -> FloatArray:
        """(T, H, W, 3) RGB to the cells (T, cells, C) of what goes into a stage."""
        backbone = self._encoder.backbone
        with computing(self.numbers, self.device):
            parts = [
                backbone.to_cells(backbone.begin(frames, stage)) for frames in self._batches(images)
            ]
        return np.asarray(torch.cat(parts).float().cpu().numpy())

    def _batches(self, images: ImageArray) -> Iterator[Tensor]:
        for start in range(0, len(images), BATCH):
            batch = torch.from_numpy(np.ascontiguousarray(images[start : start + BATCH]))
            # An (N, H, W, 3) array seen as (N, 3, H, W) is channels-last already.
            yield batch.to(self.device).permute(0, 3, 1, 2).float()


KIND = "lexical-fcn"
LEXICON = "lexicon.json"


class WordHead(nn.Module):
    """Region features (…, D) to word logits (…, W): Eq. 3 before its sigmoid."""

    def __init__(self, features: int, words: int, config: WordsConfig) -> None:
        super().__init__()
        self.config = config
        if config.hidden:
            self.shared = nn.Linear(features, config.hidden)
        self.words = nn.Linear(config.hidden or features, words)

    def forward(self, x: Tensor, words: Sequence[int] | None = None) -> Tensor:
        """Of all words, or of those indices alone."""
        if self.config.hidden:
            x = F.relu(self.shared(x))
        x = F.dropout(x, self.config.dropout, self.training)
        weight, bias, shaping = self.words.weight, self.words.bias, self.config.shaping
        if words is not None:
            return F.linear(x, weight[list(words)], bias[list(words)])
        frequent = F.linear(x, weight[:shaping], bias[:shaping])
        rare = F.linear(x.detach(), weight[shaping:], bias[shaping:])
        return torch.cat([frequent, rare], dim=-1)

    @torch.no_grad()
    def keep(self, known: WordHead, words: Sequence[str], known_words: Sequence[str]) -> None:
        """Take over the other's shared layer, and its weights of the words that both have."""
        ours, theirs = self.state_dict(), known.state_dict()
        here, there = match_words(
            words[: len(self.words.bias)], known_words[: len(known.words.bias)]
        )
        for name, tensor in ours.items():
            if name.startswith("words."):
                tensor[here] = theirs[name][there]
            else:
                tensor.copy_(theirs[name])

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

    def __init__(self, lexicon: Lexicon, eyes: EyesConfig, words: WordsConfig) -> None:
        super().__init__()
        self.lexicon = lexicon
        self.encoder = RegionEncoder(eyes)
        self.head = WordHead(self.encoder.channels, len(lexicon), words)
        self.branch: WordHead | None = None
        if words.whole:
            width = self.encoder.channels + self.encoder.frame_channels
            self.branch = WordHead(width, min(words.whole, len(lexicon)), words)
        self._fast: FastEncoder | None = None

    @torch.no_grad()
    def keep_words(self, known: LexicalFCN) -> None:
        """Take over the other's shared layer, and what it knows of the words that both have."""
        if self.head.config.hidden != known.head.config.hidden:
            raise ModelError(
                f"words can be kept only by a head of the same size: hidden is "
                f"{self.head.config.hidden}, that of the known words {known.head.config.hidden}"
            )
        self.head.keep(known.head, self.lexicon.words, known.lexicon.words)
        if self.branch is not None and known.branch is not None:
            self.branch.keep(known.branch, self.lexicon.words, known.lexicon.words)

    def forward(self, frames: Tensor) -> Tensor:
        """(B, 3, H, W) with values 0 to 255 to word logits (B, R, W)."""
        logits: Tensor = self.head(self.encoder(frames))
        return logits

    def read(self, frames: Frames, engine: Engine = "float32", still: float = 0.0) -> FrameGrid:
        """Every region's features and word probabilities, for frames of the encoder's form.

        Pictures that differ by less than `still` are looked at once (`FramesConfig`).
        """
        needed = device_of(self), choose_numbers(self.encoder, engine)
        if self._fast is None or (self._fast.device, self._fast.numbers) != needed:
            self._fast = FastEncoder(self.encoder, engine)
        are_pictures = isinstance(self.encoder.form, tuple)
        stands_for = find_still(frames.images, still if are_pictures else 0.0)
        looked_at, place = np.unique(stands_for, return_inverse=True)
        observed, patches = self._fast.observe(frames.images[looked_at])
        return self.describe(
            observed[place], frames.times, patches[place], frames.source_frames, engine
        )

    def describe(
        self,
        observed: FloatArray,
        times: TimeArray,
        patches: FloatArray | None = None,
        source_frames: SourceFrameArray | None = None,
        engine: Engine = "float32",
    ) -> FrameGrid:
        """The same from what the encoder observed before."""
        regions, frames = self.encoder.split(observed)
        return FrameGrid(
            self.encoder.grid,
            times,
            self.find_words(regions, engine=engine),
            regions,
            frames,
            patches,
            self._find_frame_words(regions, frames, engine),
            source_frames,
        )

    @torch.inference_mode()
    def find_words(
        self,
        features: FloatArray,
        words: Sequence[int] | None = None,
        engine: Engine = "float32",
    ) -> FloatArray:
        """P(word | region) (…, W) from features (…, D); of all words, or of those indices."""
        self.head.eval()
        device = device_of(self)
        numbers, asked = resolve_engine(engine, device), words
        if words is not None and numbers != torch.float32:
            asked = [*words, *[0] * (round_up(len(words)) - len(words))]
        with computing(numbers, device):
            logits = self.head(torch.from_numpy(features).to(device), asked)
        found = torch.sigmoid(logits.float()).cpu().numpy()
        return np.asarray(found if words is None else found[..., : len(words)])

    @torch.inference_mode()
    def _find_frame_words(
        self, regions: FloatArray, frames: FloatArray | None, engine: Engine
    ) -> FloatArray | None:
        """P(word | whole frame) (T, V), where the model looks at whole frames."""
        if self.branch is None:
            return None
        self.branch.eval()
        device = device_of(self)
        vectors = None if frames is None else torch.from_numpy(frames).to(device)
        with computing(resolve_engine(engine, device), device):
            logits = self.look_at_frames(torch.from_numpy(regions).to(device), vectors)
        return np.asarray(torch.sigmoid(logits.float()).cpu().numpy())

    def look_at_frames(self, regions: Tensor, frames: Tensor | None) -> Tensor:
        """Logits (T, V) of words in whole frames, from regions (T, R, D) and frames' vectors."""
        assert self.branch is not None
        mean = regions.mean(dim=1)
        logits: Tensor = self.branch(mean if frames is None else torch.cat([mean, frames], dim=-1))
        return logits

    def map_words(
        self, seen: FrameGrid, words: Sequence[int], window: int, engine: Engine = "float32"
    ) -> WordMaps:
        """Maps of these words, indices in the lexicon, at the resolution of the patches.

        Each value is of a window of `window` x `window` patches, one patch from the next.
        """
        if seen.patches is None:
            raise ValueError("these frames were read without their patches")
        rows, columns = seen.patches.shape[1:3]
        window = min(window, rows, columns)
        eyes = replace(self.encoder.config, window=window, stride=1)
        tokens = torch.from_numpy(seen.patches)
        regions = self.encoder.backbone.pool(tokens, eyes).numpy()
        names = tuple(self.lexicon.words[index] for index in words)
        probabilities = self.find_words(regions, words, engine)
        return WordMaps(Grid(rows, columns, window, 1), names, probabilities)

    def save(self, folder: Path, card: Mapping[str, Any], half: bool = False) -> None:
        """Write a model folder; `card` adds what the model cannot know (data, figures, licence).

        `half` keeps 16 bits of every number: half the size, the same words. Eyes that a model of
        the package has are left out (`shared_eyes`).
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.lexicon.save(folder / LEXICON)
        config = {"eyes": asdict(self.encoder.config), "words": asdict(self.head.config)}
        tensors, eyes = leave_out_eyes(folder, self.state_dict())
        if half:
            tensors = {n: t.half() if t.is_floating_point() else t for n, t in tensors.items()}
        save_model(folder, tensors, {"kind": KIND, **config, **eyes, **card}, (LEXICON,))

    @classmethod
    def load(cls, folder: Path) -> LexicalFCN:
        tensors, card = load_model(folder)
        if card.get("kind") != KIND:
            raise ModelError(f"{folder}: holds a {card.get('kind')}, not a Lexical-FCN")
        lexicon = Lexicon.load(folder / LEXICON)
        return build_model(
            folder,
            put_back_eyes(folder, tensors, card),
            card,
            lambda: cls(lexicon, EyesConfig(**card["eyes"]), WordsConfig(**card["words"])),
        )
