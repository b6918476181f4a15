"""A vision transformer of a few units: what a new backbone needs is this file and a line.

Its intermediate values are tokens with a class token before them, it has layer norms and a position
for each token as a plain parameter, and its cells are not 32 pixels.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from densevidcap.errors import ModelError
from densevidcap.models.backbones.backbone import Backbone, Stage, normalise

PATCH, TRAINED_SIDE = 14, 3


class TinyViT(Backbone):
    channels = 16
    has_frame_vector = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.patches = nn.Conv2d(3, self.channels, PATCH, PATCH)
        self.class_token = nn.Parameter(torch.randn(1, 1, self.channels))
        self.positions = nn.Parameter(torch.randn(1, TRAINED_SIDE**2, self.channels))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                self.channels, 2, 32, dropout=0.0, batch_first=True, norm_first=True
            )
            for _ in range(3)
        )
        self.norm = nn.LayerNorm(self.channels)

    def stages(self) -> list[Stage]:
        return [
            Stage(("patches", "class_token", "positions"), self._embed),
            *(Stage((f"blocks.{n}",), block) for n, block in enumerate(self.blocks)),
            Stage(("norm",), self.norm),
        ]

    def _embed(self, frames: Tensor) -> Tensor:
        cells = self.patches(normalise(frames))
        grid = self.positions.view(1, TRAINED_SIDE, TRAINED_SIDE, -1).permute(0, 3, 1, 2)
        cells = cells + nn.functional.interpolate(grid, size=cells.shape[2:], mode="bilinear")
        tokens = cells.flatten(2).transpose(1, 2)
        return torch.cat([self.class_token.expand(len(tokens), -1, -1), tokens], dim=1)

    def map_side(self, size: int) -> int:
        if size % PATCH:
            raise ModelError(f"size must be a multiple of {PATCH} pixels for {self.name}")
        return size // PATCH

    def read_map(self, x: Tensor) -> Tensor:
        side = round((x.shape[1] - 1) ** 0.5)
        return x[:, 1:].reshape(len(x), side, side, -1)

    def frame_vector(self, x: Tensor) -> Tensor:
        return x[:, 0]

    def to_cells(self, x: Tensor) -> Tensor:
        return x

    def from_cells(self, cells: Tensor) -> Tensor:
        return cells

    def mirror(self, x: Tensor) -> Tensor:
        return torch.cat([x[:, :1], self.read_map(x).flip(2).flatten(1, 2)], dim=1)
