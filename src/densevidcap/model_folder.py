"""Model folders: tensors as safetensors, everything else in `card.json`, written last.

A folder without a card is unfinished and is refused, so a process that dies
while it writes never leaves something that looks like a model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from densevidcap.errors import ModelError
from densevidcap.files import replacing
from densevidcap.intake import check_plain, parse_json

CARD = "card.json"
WEIGHTS = "weights.safetensors"

Model = TypeVar("Model", bound=nn.Module)

BUNDLED = Path(__file__).parent / "bundled" / "default"
"""The model that comes with the package: a folder for each stage of the pipeline."""


def hash_file(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    with replacing(path) as temporary:
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        temporary.write_text(text, encoding="utf-8")


def save_model(
    folder: Path,
    tensors: Mapping[str, Tensor],
    card: Mapping[str, Any],
    files: tuple[str, ...] = (),
) -> None:
    """Write a model folder. `files` names what the caller has put there already (a lexicon, …)."""
    (folder / CARD).unlink(missing_ok=True)
    with replacing(folder / WEIGHTS) as temporary:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, temporary)
    hashes = {name: hash_file(folder / name) for name in (WEIGHTS, *files)}
    write_json(folder / CARD, {**card, "files": hashes})


def find_model(folder: Path | None, stage: str) -> Path:
    """The folder that the user named, or the one for that stage that comes with the package."""
    if folder is None and not (BUNDLED / stage / CARD).is_file():
        raise ModelError(f"no model for {stage} comes with this version; name one with --model")
    return folder or BUNDLED / stage


def translate_card(card: dict[str, Any]) -> dict[str, Any]:
    """A card of version 0.1 in today's words."""
    names = {"encoder": "eyes", "head": "words"}
    return {names.get(name, name): value for name, value in card.items()}


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a model folder, after all its files were found; faults are named at once."""
    try:
        check_plain(folder / CARD)
        card = translate_card(parse_json((folder / CARD).read_bytes()))
        files: dict[str, str] = dict(card["files"])
        card["files"] = files
    except (FileNotFoundError, NotADirectoryError):
        raise ModelError(
            f"{folder}: no {CARD} in it; it is no model folder, or its training did not finish"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder / CARD}: not a model card ({error})") from None
    missing = [name for name in {WEIGHTS: "", **files} if not (folder / name).is_file()]
    if missing:
        raise ModelError(f"{folder}: missing {', '.join(missing)}; copy the whole model folder")
    return card


def load_model(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and card of a model folder; a file that differs from its card's hash is refused."""
    card = read_card(folder)
    for name, expected in card["files"].items():
        if hash_file(folder / name) != expected:
            raise ModelError(
                f"{folder / name}: damaged or changed since it was saved; copy it again"
            )
    try:
        tensors: dict[str, Tensor] = load_file(folder / WEIGHTS)
    except SafetensorError as error:
        raise ModelError(f"{folder / WEIGHTS}: {error}") from None
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise ModelError(
                f"{folder / WEIGHTS}: '{name}' holds values that are no numbers; train it again"
            )
    return tensors, card


def build_model(folder: Path, tensors: Mapping[str, Tensor], build: Callable[[], Model]) -> Model:
    """The network that a card describes, with the tensors that stand beside it.

    A card can claim any size: it is built without memory first, and takes memory only if it is of
    the sizes that the weights have.
    """
    try:
        with torch.device("meta"):
            claimed = build().state_dict()
        for name, tensor in claimed.items():
            if name in tensors and tensors[name].shape != tensor.shape:
                sizes = f"{[*tensors[name].shape]}, not {[*tensor.shape]}"
                raise ModelError(f"'{name}' has the sizes {sizes}")
        if differing := sorted(claimed.keys() ^ tensors.keys()):
            raise ModelError(f"'{differing[0]}' is in one of them only")
        model = build()
        model.load_state_dict(dict(tensors))
    except (KeyError, TypeError, ValueError, ArithmeticError, RuntimeError, ModelError) as error:
        reason = (str(error).splitlines() or [repr(error)])[0]
        raise ModelError(f"{folder}: card and weights do not fit ({reason})") from None
    return model.eval()
