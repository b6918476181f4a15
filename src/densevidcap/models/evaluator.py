"""How well a sentence fits a clip: what every evaluator can do, and which kinds there are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import torch

from densevidcap.model_folder import read_card
from densevidcap.models import evaluator_network
from densevidcap.models.evaluator_network import NetworkEvaluator
from densevidcap.models.evaluator_regression import RegressionEvaluator
from densevidcap.models.views import ClipView
from densevidcap.types import FloatArray


class Evaluator(Protocol):
    @property
    def inputs(self) -> int | None:
        """V: of how many words it takes probabilities; None if it takes none."""

    def score(self, view: ClipView, sentences: Sequence[str]) -> FloatArray:
        """(S,): how well each sentence fits the clip."""

    def to(self, device: torch.device) -> None:
        """Move it there."""


def load_evaluator(folder: Path) -> Evaluator:
    """Of the kind that its card says."""
    if read_card(folder).get("kind") == evaluator_network.KIND:
        return NetworkEvaluator.load(folder)
    return RegressionEvaluator.load(folder)
