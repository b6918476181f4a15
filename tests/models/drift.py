"""A stream of motion that needs no weights: which way pictures drift, for tests alone."""

from __future__ import annotations

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

from densevidcap.models.extractors.motion import MotionNetwork, MotionStream

MOVES = ((0, 1), (0, -1))


class Drift(MotionNetwork):
    """How much better a picture fits the next one that is moved aside, than as it is."""

    name = "drift"
    channels = len(MOVES)
    shorter = 48
    size = 40

    def forward(self, snippets: Tensor) -> Tensor:
        grey = F.avg_pool2d(snippets.mean(dim=1), 2)
        now, later = grey[:, :-1], grey[:, 1:]
        unlike = [
            (later.roll(move, (2, 3)) - now)[:, :, 1:-1, 1:-1].square().mean(dim=(1, 2, 3))
            for move in ((0, 0), *MOVES)
        ]
        return torch.stack([unlike[0] - each for each in unlike[1:]], dim=1)


class DriftStream(MotionStream):
    name = "drift"
    features = Drift.channels
    network = Drift


def install_drift() -> None:
    """The file of its weights, which are none."""
    path = Drift.place()
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({}, path)
