"""From frames to region features: a backbone and the windows over its map (Sec. 3.1.3)."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval

from densevidcap.errors import ModelError
from densevidcap.lexical.backbones import BACKBONES, build_backbone
from densevidcap.lexical.backbones.vgg import VGG16
from densevidcap.records import FloatArray, Grid, UInt8Array

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
