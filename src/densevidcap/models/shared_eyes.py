"""Eyes that models share: what a training left as it came is not stored once more.

The backbone is most of a Lexical-FCN. Where it equals, tensor by tensor, that of a model that comes
with the package, a folder's weights leave it out, and its card names that model and the hash of the
backbone's tensors. Packing makes a copy with everything, to be handed on.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from densevidcap import model_folder
from densevidcap.errors import ModelError, OutputError
from densevidcap.files import workspace, writing
from densevidcap.model_folder import CARD, CATEGORY, STAGES, WEIGHTS, load_model, save_model

EYES = "encoder.backbone."
"""How the names of a backbone's tensors begin in a Lexical-FCN."""
SHARED = "shared_eyes"
"""In the card: `sha256` of the tensors, and the name of the model that they are `of`."""

Tensors = dict[str, Tensor]


def leave_out_eyes(folder: Path, tensors: Mapping[str, Tensor]) -> tuple[Tensors, dict[str, Any]]:
    """What a Lexical-FCN has to store in that folder, and what its card says of the rest."""
    own = {name: tensor for name, tensor in tensors.items() if name.startswith(EYES)}
    for words in _list_installed() if own else ():
        if words.resolve() == folder.resolve():
            continue
        known = _read_eyes(words)
        if own.keys() == known.keys() and all(_equal(own[name], known[name]) for name in own):
            learned = {name: tensor for name, tensor in tensors.items() if name not in own}
            return learned, {SHARED: {"sha256": hash_tensors(known), "of": words.parent.name}}
    return dict(tensors), {}


def put_back_eyes(folder: Path, tensors: Tensors, card: Mapping[str, Any]) -> Tensors:
    """All tensors of the Lexical-FCN in that folder, from what it stores."""
    name = find_shared(folder, card)
    if name is None:
        return tensors
    needed = card[SHARED].get("sha256")
    for words in _list_installed():
        if words.parent.name == name:
            eyes = _read_eyes(words)
            # Says also that they are undamaged, so the file is not hashed once more.
            if eyes and hash_tensors(eyes) == needed:
                return tensors | eyes
    made_with = card.get("made_with")
    version = made_with.get("densevidcap") if isinstance(made_with, Mapping) else None
    raise ModelError(
        f"{folder}: needs the eyes {str(needed)[:12]} of the model '{name}', which this densevidcap"
        f" does not have; with the one that made it{f' ({version})' if version else ''} run"
        "  densevidcap models pack FOLDER OUT  and use OUT"
    )


def find_shared(folder: Path, card: Mapping[str, Any]) -> str | None:
    """The model of the package whose eyes it needs; None if it has its own."""
    shared = card.get(SHARED)
    if shared is None:
        return None
    if not isinstance(shared, Mapping) or not isinstance(shared.get("of"), str):
        raise ModelError(f"{folder / CARD}: not a model card ({SHARED} names no model)")
    return str(shared["of"])


def hash_tensors(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of names, kinds, sizes and numbers, in whatever order they are."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        digest.update(f"{name} {tensor.dtype} {[*tensor.shape]}\n".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def pack_model(folder: Path, out: Path, half: bool = False) -> None:
    """A copy of a model, or of one stage, that needs no other: with its eyes.

    `half` keeps 16 bits of every number: half the size, the same words.

    What training left beside the model, such as captions and features, is no part of it.
    """
    stages = [stage for stage in STAGES if (folder / stage / CARD).is_file()]
    if not stages and not (folder / WEIGHTS).is_file():
        raise ModelError(f"{folder}: no model; it should have a folder for each of {STAGES}")
    if os.path.lexists(out):
        raise OutputError(f"{out}: stands there already; choose another name")
    if out.resolve().is_relative_to(folder.resolve()):
        raise OutputError(f"{out}: is inside the model that is packed; choose another folder")
    parts = ["", *(name for stage in stages or [""] for name in (stage, f"{stage}/{CATEGORY}"))]
    with workspace(out.absolute().parent, out) as private:
        copy = private / out.name
        for part in dict.fromkeys(part.strip("/") for part in parts):
            _copy_part(folder / part, copy / part, half)
        with writing(out):
            copy.rename(out)


def _copy_part(folder: Path, copy: Path, half: bool) -> None:
    """The plain files of a folder; those of a stage after they were found undamaged."""
    if not folder.is_dir():
        return
    tensors, card = load_model(folder) if (folder / WEIGHTS).is_file() else ({}, {})
    with writing(copy):
        copy.mkdir(parents=True)
        for path in folder.iterdir():
            if path.is_file() and not path.name.startswith("."):
                shutil.copyfile(path, copy / path.name)
    if SHARED in card or (half and tensors):
        others = tuple(name for name in card["files"] if name != WEIGHTS)
        said = {name: value for name, value in card.items() if name not in (SHARED, "files")}
        whole = put_back_eyes(folder, tensors, card)
        if half:
            whole = {n: t.half() if t.is_floating_point() else t for n, t in whole.items()}
        save_model(copy, whole, said, others)


def _list_installed() -> list[Path]:
    """Folders of the Lexical-FCNs that come with the package, the default one first."""
    default = model_folder.BUNDLED / STAGES[0]
    found = sorted(model_folder.BUNDLED.parent.glob(f"*/{STAGES[0]}/{WEIGHTS}"))
    return sorted((path.parent for path in found), key=lambda words: words != default)


def _read_eyes(words: Path) -> Tensors:
    """As they are stored; none if that model shares those of another."""
    try:
        with safe_open(words / WEIGHTS, "pt") as file:
            names = (name for name in file.keys() if name.startswith(EYES))  # noqa: SIM118
            return {name: file.get_tensor(name) for name in names}
    except SafetensorError as error:
        raise ModelError(f"{words / WEIGHTS}: {error}") from None


def _equal(own: Tensor, known: Tensor) -> bool:
    """Also where the same numbers are stored at 16 bits."""
    return own.shape == known.shape and torch.equal(own.cpu(), known.to(own.dtype))
