"""Networks of the sizes of BLIP-base and GIT-base, in plain torch and with random weights.

What they cost is what they are here for: no word of theirs means anything.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH, HEADS, PATCH = 768, 12, 16
VOCABULARY = 30522
"""Of BERT, which both use."""


class Memory(NamedTuple):
    """Keys and values (B, heads, N, D / heads) of tokens that were read, which stay as they are."""

    keys: Tensor
    values: Tensor

    def add(self, later: Memory) -> Memory:
        return Memory(*(torch.cat(pair, 2) for pair in zip(self, later, strict=True)))


class Attention(nn.Module):
    """Tokens (B, N, D) that look at those of a memory."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def read(self, tokens: Tensor) -> Memory:
        return Memory(_split(self.key(tokens)), _split(self.value(tokens)))

    def forward(self, x: Tensor, memory: Memory) -> Tensor:
        seen = F.scaled_dot_product_attention(_split(self.query(x)), *memory)
        mixed: Tensor = self.out(seen.transpose(1, 2).flatten(2))
        return mixed


def _split(x: Tensor) -> Tensor:
    return x.view(*x.shape[:2], HEADS, -1).transpose(1, 2)


class Block(nn.Module):
    """Self-attention, a look at pictures if it `looks`, and a layer of its own for each token."""

    def __init__(self, looks: bool = False) -> None:
        super().__init__()
        self.attention = Attention()
        self.look = Attention() if looks else None
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3 if looks else 2))

    def forward(
        self, x: Tensor, before: Memory | None = None, pictures: Memory | None = None
    ) -> tuple[Tensor, Memory]:
        """Tokens (B, N, D) to the same, and the memory with them after what came before."""
        first, *_, last = self.norms
        normed = first(x)
        memory = self.attention.read(normed)
        memory = memory if before is None else before.add(memory)
        x = x + self.attention(normed, memory)
        if self.look is not None:
            x = x + self.look(self.norms[1](x), pictures)
        return x + self.narrow(F.gelu(self.wide(last(x)))), memory


class VisionTransformer(nn.Module):
    """ViT-B/16: pictures (B, 3, side, side) to tokens (B, 1 + N, D)."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.first = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.places = nn.Parameter(torch.zeros(1, 1 + (side // PATCH) ** 2, WIDTH))
        self.blocks = nn.ModuleList(Block() for _ in range(12))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, pictures: Tensor) -> Tensor:
        cells = self.patches(pictures).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(cells), -1, -1), cells], 1) + self.places
        for block in self.blocks:
            x, _ = block(x)
        normed: Tensor = self.norm(x)
        return normed


class Captioner(nn.Module):
    """ViT-B/16 and a decoder that says one word after the other, keeping what it has read.

    BLIP's 12 layers look at the picture's tokens in each; GIT's 6 have them before the words.
    """

    def __init__(self, side: int, layers: int, looks: bool) -> None:
        super().__init__()
        self.side, self.looks = side, looks
        self.eyes = VisionTransformer(side)
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(looks) for _ in range(layers))
        self.norm = nn.LayerNorm(WIDTH)

    @torch.inference_mode()
    def caption(self, pictures: Tensor, words: int) -> list[int]:
        """So many words of pictures (B, 3, side, side) that are one clip, each the likeliest."""
        seen = self.eyes(pictures).flatten(0, 1).unsqueeze(0)
        blocks: list[Any] = [*self.blocks]
        shown = [block.look and block.look.read(seen) for block in blocks]
        memories: list[Memory | None] = [None] * len(blocks)
        if not self.looks:
            self._read(seen, memories, shown)
        said = [0]
        for _ in range(words):
            x = self._read(self.words(torch.tensor([[said[-1]]])), memories, shown)
            said.append(int(F.linear(self.norm(x[:, -1]), self.words.weight).argmax()))
        return said[1:]

    def _read(self, x: Tensor, memories: list[Memory | None], shown: list[Any]) -> Tensor:
        """What the last layer gives for tokens (1, N, D), which each layer's memory keeps."""
        for number, block in enumerate(self.blocks):
            x, memories[number] = block(x, memories[number], shown[number])
        return x


def build_blip_base() -> Captioner:
    """One picture of 384 pixels."""
    return Captioner(384, layers=12, looks=True).eval()


def build_git_base() -> Captioner:
    """Pictures of 224 pixels, of a video six."""
    return Captioner(224, layers=6, looks=False).eval()
