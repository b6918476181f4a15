"""ResNet-50 without its classifier's pooling, with torchvision's parameter names."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.models.backbones.backbone import ConvBackbone, Stage, normalise

LAYERS = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""(width, blocks, stride) of layer1 to layer4."""

EXPANSION = 4


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 with a shortcut; the stride sits on the 3x3, as in torchvision's weights."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * EXPANSION
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
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
    """Maps of 2048 channels."""

    channels = 2048
    may_lack = ("fc.",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for number, (width, blocks, stride) in enumerate(LAYERS, start=1):
            layer = []
            for block in range(blocks):
                layer.append(Bottleneck(inputs, width, stride if block == 0 else 1))
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
        x = F.relu(self.bn1(self.conv1(normalise(frames))))
        return F.max_pool2d(x, 3, 2, 1)
