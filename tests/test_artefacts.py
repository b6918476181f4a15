"""Model folders: whole or refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from densevidcap.errors import ModelError
from densevidcap.model_folder import (
    CARD,
    WEIGHTS,
    hash_file,
    load_model,
    read_card,
    save_model,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model with one tensor and one more file."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "words.txt").write_text("dog\n")
    save_model(model, {"w": torch.arange(3.0)}, {"kind": "toy"}, ("words.txt",))
    return model


def test_a_model_comes_back_as_it_was(folder: Path) -> None:
    tensors, card = load_model(folder)
    assert tensors.keys() == {"w"}
    assert torch.equal(tensors["w"], torch.arange(3.0))
    assert card["kind"] == "toy"
    assert card["files"].keys() == {WEIGHTS, "words.txt"}


@pytest.mark.parametrize("size", [0, 10, (1 << 20) + 1])
def test_hash_is_that_of_the_bytes(tmp_path: Path, size: int) -> None:
    content = bytes(range(256)) * (size // 256 + 1)
    (tmp_path / "file").write_bytes(content[:size])
    assert hash_file(tmp_path / "file") == hashlib.sha256(content[:size]).hexdigest()


def test_a_model_that_was_not_finished_is_refused(folder: Path) -> None:
    unsavable: Any = {"w": "not a tensor"}
    with pytest.raises(AttributeError):
        save_model(folder, unsavable, {"kind": "toy"})
    with pytest.raises(ModelError, match=r"no card\.json in it; .* did not finish"):
        load_model(folder)


@pytest.mark.parametrize("card", ["", "{", "[]", "{}", '{"kind": "toy"}', "\xff"])
def test_a_damaged_card_is_refused(folder: Path, card: str) -> None:
    (folder / CARD).write_text(card, encoding="latin-1")
    with pytest.raises(ModelError, match=r"card\.json: not a model card"):
        load_model(folder)


@pytest.mark.parametrize("name", [WEIGHTS, "words.txt"])
def test_missing_and_changed_files_are_named(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1] + b"?")
    with pytest.raises(ModelError, match=f"{name}: damaged or changed"):
        load_model(folder)
    (folder / name).unlink()
    with pytest.raises(ModelError, match=f"missing {name}; copy the whole model folder"):
        read_card(folder)


def test_weights_that_are_none_are_refused_though_their_hash_fits(folder: Path) -> None:
    (folder / WEIGHTS).write_text("no tensors")
    card = json.loads((folder / CARD).read_text())
    card["files"][WEIGHTS] = hash_file(folder / WEIGHTS)
    (folder / CARD).write_text(json.dumps(card))
    with pytest.raises(ModelError, match=WEIGHTS):
        load_model(folder)
