"""What every backbone is: stages in a row, from frames to a map of features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

IMAGENET_MEAN = (123.675, 116.28, 103.53)
IMAGENET_DEVIATION = (58.395, 57.12, 57.375)


class Stage(NamedTuple):
    """A step of the forward pass, and the modules whose parameters it uses."""

    modules: tuple[str, ...]
    run: Callable[[Tensor], Tensor]


class Backbone(nn.Module, ABC):
    """Frames (B, 3, H, W) with values 0 to 255 to a map (B, channels, H/32, W/32)."""

    channels: ClassVar[int]
    window: ClassVar[int | None] = None
    """Set where the last stages look through a window of that many cells, as VGG's fc6 does."""

    @abstractmethod
    def stages(self) -> list[Stage]:
        """In the order they run. Training can keep the first ones fixed and cache their output."""

    @abstractmethod
    def classify(self, features: Tensor) -> Tensor:
        """ImageNet logits (B, 1000) of mean-pooled features, to check that weights fit."""

    def forward(self, frames: Tensor) -> Tensor:
        for stage in self.stages():
            frames = stage.run(frames)
        return frames


def normalise(frames: Tensor) -> Tensor:
    """Values 0 to 255 to the mean and deviation that torchvision's weights expect."""
    mean = frames.new_tensor(IMAGENET_MEAN).view(3, 1, 1)
    deviation = frames.new_tensor(IMAGENET_DEVIATION).view(3, 1, 1)
    return (frames - mean) / deviation
