"""Latent semantic analysis: sentences as points of a space learned from captions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from densevidcap.data.lexicon import FUNCTION_WORDS
from densevidcap.data.text import tokenise
from densevidcap.errors import CorpusError
from densevidcap.files import replacing
from densevidcap.intake import parse_json

Array = npt.NDArray[np.float64]

DIMENSIONS = 10
"""The paper names none; with ten its figures for human sentences come out (docs/evaluation.md)."""
_LEAST_SENTENCES = 2
"""A word of a single sentence ties it to no other; it counts only where no word recurs."""
_SPARE, _ROUNDS = 10, 15
"""Directions beyond those wanted, and rounds, after which the wanted ones have settled."""


@dataclass(frozen=True)
class LatentSpace:
    """The main directions of TF-IDF bags of words, without the paper's eight function words."""

    rarity: Mapping[str, float]
    """The weight of each of the W words that the space knows."""
    directions: Tensor
    """(W, D), orthonormal, the strongest first."""

    @classmethod
    def fit(cls, captions: Iterable[str], dimensions: int = DIMENSIONS) -> LatentSpace:
        """The space of these captions, of fewer dimensions where they have fewer words.

        The same captions give the same space.
        """
        bags = [_count(caption) for caption in captions]
        having = Counter(word for bag in bags for word in bag)
        least = min(_LEAST_SENTENCES, max(having.values(), default=0))
        rarity = {
            word: float(np.log((1 + len(bags)) / (1 + count)) + 1)
            for word, count in having.items()
            if count >= least
        }
        if not rarity:
            raise CorpusError("the captions have no words to span a latent space")
        return cls(rarity, _find_directions(_weigh(bags, rarity), min(dimensions, len(rarity))))

    def save(self, path: Path) -> None:
        header = {"words": json.dumps(list(self.rarity), ensure_ascii=False)}
        tensors = {
            "rarity": torch.tensor(list(self.rarity.values())),
            "directions": self.directions.float().contiguous(),
        }
        with replacing(path) as temporary:
            save_file(tensors, temporary, header)

    @classmethod
    def load(cls, path: Path) -> LatentSpace:
        try:
            with safe_open(path, "pt") as file:
                words = parse_json(file.metadata()["words"])
                rarity, directions = file.get_tensor("rarity"), file.get_tensor("directions")
            return cls(dict(zip(words, rarity.tolist(), strict=True)), directions.double())
        except (OSError, SafetensorError, KeyError, TypeError, ValueError):
            raise CorpusError(f"{path}: not a saved latent space; copy the whole folder") from None

    def embed(self, sentences: Iterable[str]) -> Array:
        """(N, D); zeros for a sentence without a known word."""
        bags = [_count(sentence) for sentence in sentences]
        return np.asarray(_weigh(bags, self.rarity) @ self.directions)


def _count(sentence: str) -> Counter[str]:
    return Counter(word for word in tokenise(sentence) if word not in FUNCTION_WORDS)


def _weigh(bags: Sequence[Mapping[str, int]], rarity: Mapping[str, float]) -> Tensor:
    """Sparse (N, W): TF-IDF, each row of length one."""
    place = {word: column for column, word in enumerate(rarity)}
    rows: list[int] = []
    columns: list[int] = []
    weights: list[float] = []
    for row, bag in enumerate(bags):
        known = {word: count * rarity[word] for word, count in bag.items() if word in rarity}
        length = sum(weight**2 for weight in known.values()) ** 0.5
        rows.extend([row] * len(known))
        columns.extend(place[word] for word in known)
        weights.extend(weight / length for weight in known.values())
    return torch.sparse_coo_tensor(
        torch.tensor([rows, columns], dtype=torch.long),
        torch.tensor(weights, dtype=torch.float64),
        (len(bags), len(rarity)),
        check_invariants=True,
    ).coalesce()


def _find_directions(bags: Tensor, dimensions: int) -> Tensor:
    """The right singular vectors of sparse (N, W), by subspace iteration: (W, D)."""
    words = bags.shape[1]
    start = torch.randn(
        words,
        min(words, dimensions + _SPARE),
        generator=torch.Generator().manual_seed(0),
        dtype=torch.float64,
    )
    basis, turned = torch.linalg.qr(start).Q, bags.t().coalesce()
    for _ in range(_ROUNDS):
        basis = torch.linalg.qr(turned @ (bags @ basis)).Q
    _, _, order = torch.linalg.svd(bags @ basis, full_matrices=False)
    directions: Tensor = (basis @ order.T)[:, :dimensions]
    return directions
