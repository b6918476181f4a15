"""ResNet-50 without its classifier's pooling, with torchvision's parameter names.

There are two networks of that name. The first publication has the stride of a block on its first
1x1; torchvision moved it to the 3x3. Weights of one are no use to the other, though they fit.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.models.backbones.backbone import ConvBackbone, Stage, normalise

LAYERS = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""(width, blocks, stride) of layer1 to layer4."""

EXPANSION = 4


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 with a shortcut; the stride sits on the 3x3, or `early` on the first 1x1."""

    def __init__(self, inputs: int, width: int, stride: int, early: bool) -> None:
        super().__init__()
        outputs = width * EXPANSION
        self.conv1 = nn.Conv2d(inputs, width, 1, stride if early else 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1 if early else stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = (
            nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )
            if stride != 1 or inputs != outputs
            else nn.Identity()
        )

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + self.downsample(x))


class ResNet50(ConvBackbone):
    """Maps of 2048 channels, by torchvision's network."""

    channels = 2048
    may_lack = ("fc.",)
    early: ClassVar[bool] = False
    """Whether blocks have their stride on the first 1x1."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for number, (width, blocks, stride) in enumerate(LAYERS, start=1):
            layer = []
            for block in range(blocks):
                layer.append(Bottleneck(inputs, width, stride if block == 0 else 1, self.early))
                inputs = width * EXPANSION
            self.add_module(f"layer{number}", nn.Sequential(*layer))
        self.fc = nn.Linear(self.channels, 1000)

    def stages(self) -> list[Stage]:
        layers = [f"layer{number}" for number in range(1, len(LAYERS) + 1)]
        return [
            Stage(("conv1", "bn1"), self._begin),
            *(Stage((layer,), self.get_submodule(layer)) for layer in layers),
        ]

    def _begin(self, frames: Tensor) -> Tensor:
        x = F.relu(self.bn1(self.conv1(self.normalise(frames))))
        return F.max_pool2d(x, 3, 2, 1)

    def normalise(self, frames: Tensor) -> Tensor:
        """Values 0 to 255 to those that the weights were trained on."""
        return normalise(frames)


class KerasResNet50(ResNet50):
    """The network as first published, with the norms and colours of its weights in Keras.

    `scripts/convert_resnet50.py` makes a file of them.
    """

    early = True
    mean: ClassVar[tuple[float, float, float]] = (123.68, 116.779, 103.939)
    """Red, green, blue. Nothing is divided by."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eps = 1e-3

    def normalise(self, frames: Tensor) -> Tensor:
        return frames - frames.new_tensor(self.mean).view(3, 1, 1)
