"""C3D, the network of motion that the paper fuses (Tran et al., 2015).

No package on the Python index carries its weights: a user brings them. Parameters have the names
of the public file that was trained on Sports-1M: `conv1`, `conv2`, `conv3a`, `conv3b`, `conv4a`,
`conv4b`, `conv5a`, `conv5b`, `fc6`, `fc7` and, if they are there, `fc8`.
"""

from __future__ import annotations

import re

from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.models.backbones.weights import Tensors
from densevidcap.models.extractors.motion import MotionNetwork, MotionStream

MEAN = (104.0, 117.0, 128.0)
"""Of the frames that it was trained on."""
_WIDTHS = {
    "conv1": 64,
    "conv2": 128,
    "conv3a": 256,
    "conv3b": 256,
    "conv4a": 512,
    "conv4b": 512,
    "conv5a": 512,
    "conv5b": 512,
}
_POOLED = {"conv1": (1, 2, 2), "conv2": (2, 2, 2), "conv3b": (2, 2, 2), "conv4b": (2, 2, 2)}
"""Layers that pooling follows, by time, height and width."""


class C3D(MotionNetwork):
    """Sixteen frames of 112 x 112 pixels to the 4,096 numbers of `fc6`."""

    name = "c3d"
    channels = 4096
    shorter = 128
    size = 112
    may_lack = ("fc7.", "fc8.")

    def __init__(self) -> None:
        super().__init__()
        inputs = 3
        for name, width in _WIDTHS.items():
            self.add_module(name, nn.Conv3d(inputs, width, 3, padding=1))
            inputs = width
        self.fc6 = nn.Linear(8192, self.channels)
        self.fc7 = nn.Linear(self.channels, self.channels)

    def forward(self, snippets: Tensor) -> Tensor:
        x = snippets - snippets.new_tensor(MEAN).view(3, 1, 1, 1)
        for name in _WIDTHS:
            x = self.get_submodule(name)(x).relu_()
            if name in _POOLED:
                x = F.max_pool3d(x, _POOLED[name], _POOLED[name])
        x = F.max_pool3d(x, 2, 2, padding=(0, 1, 1))
        return F.relu(self.fc6(x.flatten(1)))

    @classmethod
    def translate(cls, tensors: Tensors) -> Tensors:
        """Also from files that name layers `backbone.conv1a.conv`; a classifier is left out."""
        named = {re.sub(r"^backbone\.|\.conv(?=\.)", "", name): t for name, t in tensors.items()}
        named = {re.sub(r"^conv([12])a\.", r"conv\1.", name): t for name, t in named.items()}
        known = (*_WIDTHS, "fc6", "fc7")
        others = ("fc8.", "cls_head.")
        return {n: t for n, t in named.items() if n.startswith(known) or not n.startswith(others)}


class C3DStream(MotionStream):
    name = "c3d"
    features = C3D.channels
    network = C3D
