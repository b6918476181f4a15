"""Which of a corpus' categories a clip belongs to: P(c | v) of the category-wise model (Eq. 14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.errors import CorpusError, ModelError
from densevidcap.model_folder import build_model, load_model, save_model
from densevidcap.models.device import device_of, move
from densevidcap.models.views import ClipView
from densevidcap.types import FloatArray

KIND = "category"
SMOOTHING = 0.1
"""Of labels: neighbouring categories such as "people" and "tv shows" are mixed up by people too."""


class CategoryClassifier(nn.Module):
    """A clip's mean feature (D) and words (V) to logits over C categories."""

    def __init__(
        self, categories: Sequence[str], features: int, words: int, dropout: float = 0.7
    ) -> None:
        super().__init__()
        self.categories = tuple(categories)
        self.sizes = (features, words)
        self.norms = nn.ModuleList([nn.LayerNorm(features), nn.LayerNorm(words)])
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(features + words, len(categories))

    def forward(self, features: Tensor, words: Tensor) -> Tensor:
        parts = [norm(x) for norm, x in zip(self.norms, (features, words), strict=True)]
        logits: Tensor = self.linear(self.dropout(torch.cat(parts, dim=-1)))
        return logits

    @torch.inference_mode()
    def classify(self, view: ClipView) -> FloatArray:
        """(C,): P(category | clip)."""
        self.eval()
        device = device_of(self)
        features, words = (torch.from_numpy(x).to(device) for x in summarise(view))
        return np.asarray(self(features, words).softmax(-1).cpu().numpy())

    def save(self, folder: Path, card: Mapping[str, Any]) -> None:
        content = {"kind": KIND, "categories": self.categories, "sizes": self.sizes, **card}
        save_model(folder, self.state_dict(), content, ())

    @classmethod
    def load(cls, folder: Path) -> CategoryClassifier:
        tensors, card = load_model(folder)
        if card.get("kind") != KIND:
            raise ModelError(f"{folder}: holds a {card.get('kind')}, not a category classifier")
        return build_model(folder, tensors, card, lambda: cls(card["categories"], *card["sizes"]))


def summarise(view: ClipView) -> tuple[FloatArray, FloatArray]:
    """The clip's mean feature (D,) and the roots of its word probabilities (V,)."""
    features = np.asarray(view.features, np.float32).mean(axis=(0, 1))
    return features, np.sqrt(np.asarray(view.clip_words, np.float32))


def mark_category(view: ClipView, categories: Sequence[str], category: str | None) -> ClipView:
    """The view with its category as an input: the annotated one, or one that is supposed."""
    if category not in categories:
        return view
    marked = np.array([name == category for name in categories], np.float32)
    return replace(view, category=marked)


class Batch(NamedTuple):
    features: Tensor
    words: Tensor
    labels: Tensor


class CategoryTask:
    """A classifier, clips and their categories, for the training loop."""

    batch = 64

    def __init__(
        self,
        model: CategoryClassifier,
        clips: Sequence[tuple[ClipView, str]],
        held_out: Sequence[tuple[ClipView, str]],
        seed: int = 0,
    ) -> None:
        if not clips:
            raise CorpusError("no clip with a category to train on")
        self.model, self.seed = model, seed
        self.data = self._gather(clips)
        self.held_out = self._gather(held_out) if held_out else None

    def _gather(self, clips: Sequence[tuple[ClipView, str]]) -> Batch:
        features, words = zip(*(summarise(view) for view, _ in clips), strict=True)
        places = [self.model.categories.index(category) for _, category in clips]
        return Batch(
            torch.from_numpy(np.stack(features)),
            torch.from_numpy(np.stack(words)),
            torch.tensor(places, device="cpu"),
        )

    def steps_per_epoch(self) -> int:
        return -(-len(self.data.labels) // self.batch)

    def batches(self, epoch: int) -> Iterator[Batch]:
        order = np.random.default_rng((self.seed, epoch)).permutation(len(self.data.labels))
        for start in range(0, len(order), self.batch):
            rows = torch.from_numpy(order[start : start + self.batch])
            yield Batch(*(part[rows] for part in self.data))

    def loss(self, batch: Batch) -> Tensor:
        logits = self.model(batch.features, batch.words)
        return F.cross_entropy(logits, batch.labels, label_smoothing=SMOOTHING)

    def lr_multipliers(self) -> dict[str, float]:
        return {}

    @torch.inference_mode()
    def validate(self) -> dict[str, float]:
        """Percent of held-out clips whose category is found."""
        if self.held_out is None:
            return {}
        held_out: Batch = move(self.held_out, device_of(self.model))
        found = self.model(held_out.features, held_out.words).argmax(-1)
        return {"accuracy": 100 * float((found == held_out.labels).float().mean())}
