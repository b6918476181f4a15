"""What every backbone is: stages in a row, from frames to a map of tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.config import EyesConfig
from densevidcap.errors import ModelError
from densevidcap.models.backbones.weights import WeightPackage
from densevidcap.types import Grid, MapShape

IMAGENET_MEAN = (123.675, 116.28, 103.53)
IMAGENET_DEVIATION = (58.395, 57.12, 57.375)


class Stage(NamedTuple):
    """A step of the forward pass, and the modules and parameters that it uses, by name."""

    modules: tuple[str, ...]
    run: Callable[[Tensor], Tensor]


class Backbone(nn.Module, ABC):
    """Frames (B, 3, H, W) with values 0 to 255 to tokens (B, rows, columns, D).

    What goes from stage to stage is the backbone's own business: a convolution's map (B, C, h, w),
    a transformer's tokens with a class token before them, …. So it also knows how to keep that as
    rows of numbers, and how to mirror it. Normalising frames is part of its first stage.
    """

    channels: int
    """D"""
    has_frame_vector: ClassVar[bool] = False
    """Whether there is one vector for the whole frame, such as a transformer's class token."""
    may_lack: ClassVar[tuple[str, ...]] = ()
    """Beginnings of the names of parameters that a file of weights need not have."""
    is_mostly_products: ClassVar[bool] = False
    """Whether it is products of matrices that take its time, which 16-bit numbers make faster."""
    package: WeightPackage | None = None
    """Where ImageNet weights can be installed from."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    @abstractmethod
    def stages(self) -> list[Stage]:
        """In the order they run. Training can keep the first ones fixed and cache their output."""

    @abstractmethod
    def map_side(self, size: int) -> int:
        """Rows, and columns, of the tokens of frames of size x size pixels.

        A ModelError says which sizes there are, where this is none of them.
        """

    @abstractmethod
    def read_map(self, x: Tensor) -> Tensor:
        """Tokens (B, rows, columns, D) from what the last stage gives."""

    @abstractmethod
    def to_cells(self, x: Tensor) -> Tensor:
        """What goes into any stage, as rows (B, cells, C) that a cache can hold."""

    @abstractmethod
    def from_cells(self, cells: Tensor) -> Tensor:
        """What `to_cells` was given."""

    @abstractmethod
    def mirror(self, x: Tensor) -> Tensor:
        """What goes into any stage, as if frames were mirrored, or near enough."""

    def translate(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Public weights under this network's own names, where others publish them too."""
        return tensors

    def frame_vector(self, x: Tensor) -> Tensor | None:  # noqa: ARG002
        """The vector (B, D) of the whole frame from what the last stage gives, if there is one."""
        return None

    def begin(self, frames: Tensor, stage: int) -> Tensor:
        """What goes into the stage of that number."""
        for earlier in self.stages()[:stage]:
            frames = earlier.run(frames)
        return frames

    def finish(self, x: Tensor, stage: int) -> Tensor:
        """The rest of the way, from what goes into that stage to what the last one gives."""
        for later in self.stages()[stage:]:
            x = later.run(x)
        return x

    def names_from(self, stage: int) -> list[str]:
        """Parameters and buffers that are used by that stage and later ones only."""
        used = [name for later in self.stages()[stage:] for name in later.modules]
        prefixes = tuple(f"{name}." for name in used)
        return [n for n in self.state_dict() if n in used or n.startswith(prefixes)]

    def count_channels(self, eyes: EyesConfig) -> int:  # noqa: ARG002
        """D of these eyes."""
        return self.channels

    def read_shape(self, eyes: EyesConfig) -> MapShape | None:  # noqa: ARG002
        """What a frame must be, where these eyes see features that others extracted; else None."""
        return None

    def tokens(self, frames: Tensor) -> Tensor:
        """(B, rows, columns, D)"""
        return self.read_map(self.finish(frames, 0))

    def forward(self, frames: Tensor) -> Tensor:
        return self.tokens(frames)

    def make_grid(self, eyes: EyesConfig) -> Grid:
        """The regions of a frame; a ModelError if there are none."""
        side = self.map_side(eyes.size)
        if eyes.window > side:
            raise ModelError(
                f"a window of {eyes.window} cells does not fit {eyes.size} pixels, "
                f"which are {side} cells of {self.name}"
            )
        return Grid(side, side, eyes.window, eyes.stride)

    def pool(self, tokens: Tensor, eyes: EyesConfig) -> Tensor:
        """Regions (B, R, D): the mean of each window."""
        x = F.avg_pool2d(tokens.permute(0, 3, 1, 2), eyes.window, eyes.stride)
        return x.flatten(2).transpose(1, 2)


class ConvBackbone(Backbone):
    """One whose stages hand on maps (B, C, h, w), the last of H/32 x W/32 cells."""

    pixels: ClassVar[int] = 32
    """Side of a cell of the last map."""

    def map_side(self, size: int) -> int:
        if size % self.pixels:
            raise ModelError(
                f"size must be a multiple of {self.pixels} pixels for {self.name}, not {size}"
            )
        return size // self.pixels

    def read_map(self, x: Tensor) -> Tensor:
        return x.permute(0, 2, 3, 1)

    def to_cells(self, x: Tensor) -> Tensor:
        return x.flatten(2).transpose(1, 2)

    def from_cells(self, cells: Tensor) -> Tensor:
        side = round(cells.shape[1] ** 0.5)  # frames are squares
        return cells.transpose(1, 2).reshape(len(cells), -1, side, side)

    def mirror(self, x: Tensor) -> Tensor:
        return x.flip(3)


def normalise(frames: Tensor) -> Tensor:
    """Values 0 to 255 to the mean and deviation that torchvision's weights expect."""
    mean = frames.new_tensor(IMAGENET_MEAN).view(3, 1, 1)
    deviation = frames.new_tensor(IMAGENET_DEVIATION).view(3, 1, 1)
    return (frames - mean) / deviation
