"""Model folders: tensors as safetensors, everything else in `card.json`, written last.

A model has a folder for each of its stages, with a card each, and a card of its own that holds its
`ModelConfig`. A stage without a card is unfinished and is refused, so a process that dies while it
writes never leaves something that looks like a model.

Models of version 0.1 have no config, and their cards use other words. They are translated here, and
nowhere else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from densevidcap.config import (
    CaptionerConfig,
    EvaluatorTrainingConfig,
    ModelConfig,
    SentenceTrainingConfig,
    WordTrainingConfig,
)
from densevidcap.errors import ModelError
from densevidcap.files import replacing
from densevidcap.intake import check_plain, parse_json

CARD = "card.json"
WEIGHTS = "weights.safetensors"

Model = TypeVar("Model", bound=nn.Module)
STAGES = ("words", "sentences", "evaluator")
"""Folders of a model; it can do without the last."""
VERSION = 2
"""Of the card of a whole model: raised when older readers would misunderstand newer ones."""

CATEGORY = "category"
"""Folder inside that of the sentences, for the classifier of categories."""
MEANING = "meaning.safetensors"
"""The latent space of the training captions, in which sentences are compared."""
PHRASES = "phrases.json"
"""How rare words and pairs of words are in them."""

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
    """That stage of the model that the user named, or of the one that comes with the package.

    The user may also name the folder of the stage itself.
    """
    if folder is None and not (BUNDLED / stage / CARD).is_file():
        raise ModelError(f"no model for {stage} comes with this version; name one with --model")
    whole = folder or BUNDLED
    return whole / stage if (whole / stage / CARD).is_file() else whole


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a model folder, after all its files were found; faults are named at once."""
    try:
        check_plain(folder / CARD)
        card = _translate_card(parse_json((folder / CARD).read_bytes()))
        files: dict[str, str] = dict(card["files"])
        card["files"] = files
    except (FileNotFoundError, NotADirectoryError):
        raise ModelError(
            f"{folder}: no {CARD} in it; it is no model folder, or its training did not finish"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{folder / CARD}: not a model card ({error})") from None
    missing = [name for name in {WEIGHTS: "", **files} if not (folder / name).is_file()]
    if missing:
        raise ModelError(f"{folder}: missing {', '.join(missing)}; copy the whole model folder")
    return _translate_card(card)


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
        if not _is_finite(tensor):
            raise ModelError(
                f"{folder / WEIGHTS}: '{name}' holds values that are no numbers; train it again"
            )
    return {_TENSORS.get(name, name): tensor for name, tensor in tensors.items()}, card


def _is_finite(tensor: Tensor) -> bool:
    """Whether all are numbers: what is none is the least or the largest, or spreads to both."""
    return not tensor.numel() or all(end.isfinite() for end in tensor.aminmax())


SECTIONS = ("eyes", "words", "captioner", "streams", "evaluator", "sizes")
"""Of a stage's card: what decides the sizes of its network."""
LARGE = 4096
"""A network all of whose sizes are at most that is built at once."""


def build_model(
    folder: Path, tensors: Mapping[str, Tensor], card: Mapping[str, Any], build: Callable[[], Model]
) -> Model:
    """The network that a card describes, with the tensors that stand beside it.

    A card can claim any size: one that claims a large one is built without memory first, and takes
    memory only if it is of the sizes that the weights have.
    """
    try:
        if any(_claims_much(card.get(name)) for name in SECTIONS):
            # What torch needs for that takes a second to import.
            with torch.device("meta"):
                _compare(build(), tensors)
        model = build()
        _compare(model, tensors)
        model.load_state_dict(dict(tensors))
    except (KeyError, TypeError, ValueError, ArithmeticError, RuntimeError, ModelError) as error:
        reason = (str(error).splitlines() or [repr(error)])[0]
        raise ModelError(f"{folder}: card and weights do not fit ({reason})") from None
    return model.eval()


def _compare(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Refuse tensors of other names or sizes than the network's."""
    claimed = model.state_dict()
    for name, tensor in claimed.items():
        if name in tensors and tensors[name].shape != tensor.shape:
            sizes = f"{[*tensors[name].shape]}, not {[*tensor.shape]}"
            raise ModelError(f"'{name}' has the sizes {sizes}")
    if differing := sorted(claimed.keys() ^ tensors.keys()):
        raise ModelError(f"'{differing[0]}' is in one of them only")


def _claims_much(section: Any) -> bool:
    if isinstance(section, Mapping):
        return any(map(_claims_much, section.values()))
    if isinstance(section, list | tuple):
        return any(map(_claims_much, section))
    return isinstance(section, int | float) and not section <= LARGE


def write_model_card(folder: Path, config: ModelConfig, **facts: Any) -> None:
    """The card of a whole model: how it was made and is used, and `facts` such as its figures."""
    content = {"version": VERSION, **facts, "config": config.to_dict()}
    write_json(folder / CARD, content)


def read_model_card(folder: Path) -> dict[str, Any]:
    """The card of a whole model; empty if it has none, as that of version 0.1."""
    path = folder / CARD
    if not path.exists():
        return {}
    try:
        check_plain(path)
        card = dict(parse_json(path.read_bytes()))
        version = int(card.get("version", VERSION))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(f"{path}: not a model card ({error}); copy the model folder") from None
    if version > VERSION:
        raise ModelError(f"{path}: made by a newer densevidcap, whose cards have version {version}")
    return card


def read_model_config(folder: Path) -> ModelConfig:
    """The settings of a model by its card, or those of a stage: its model's, or else its own."""
    if folder.name in STAGES and "config" in read_model_card(folder.parent):
        folder = folder.parent
    card = read_model_card(folder)
    if "config" not in card:
        return _gather_config(folder, {card["kind"]: card} if "kind" in card else {})
    return ModelConfig.from_dict(card["config"], f"{folder / CARD}: config")


def upgrade_model(folder: Path) -> None:
    """Give a model of version 0.1 its card with a config; no other file is touched."""
    card = read_model_card(folder)
    if "config" in card:
        raise ModelError(f"{folder}: nothing to do; its card has a config already")
    if "kind" in card:
        raise ModelError(f"{folder}: a stage of a model; name the folder that holds all stages")
    write_model_card(folder, read_model_config(folder), **card)


def _gather_config(folder: Path, cards: Mapping[str, dict[str, Any]]) -> ModelConfig:
    """From the cards of stages, by their kind: the given one, or those of a whole model."""
    if cards:
        cards = {kind: _translate_card(card) for kind, card in cards.items()}
    else:
        found = [read_card(folder / stage) for stage in STAGES[:2]]
        if (folder / STAGES[2]).is_dir():
            found.append(read_card(folder / STAGES[2]))
        cards = {str(card.get("kind")): card for card in found}
    for kind in ("captioner", "lexical-fcn"):
        if "config" in cards.get(kind, {}):
            return ModelConfig.from_dict(cards[kind]["config"], f"{folder}: config")
    return ModelConfig.from_dict(_join_cards(cards), str(folder))


# Version 0.1: its words, and what they are called now.

_TENSORS = {"log_sharpness": "log_scale"}
_METRICS = {"nats_a_word": "val_loss"}
_LESSONS = {"rivals": "negatives", "strangers": "other_clips", "grading": "listnet"}


def _translate_card(card: dict[str, Any]) -> dict[str, Any]:
    """A stage's card in the words of today."""
    translated = dict(card)
    if "encoder" in card:
        translated.setdefault("eyes", card["encoder"])
        translated.setdefault("words", card["head"])
    if "frame_streams" in card.get("captioner", {}):
        old, recipe = card["captioner"], card.get("recipe", {})
        captioner = _take(CaptionerConfig, old)
        if "frames" in recipe.get("sentences", {}):
            captioner["most_frames"] = recipe["sentences"]["frames"]
        translated["captioner"] = captioner
        translated["streams"] = {
            "frame_level": old["frame_streams"],
            "clip_level": old["whole_streams"],
        }
    if isinstance(card.get("history"), list):
        translated["history"] = [
            {_METRICS.get(name, name): value for name, value in row.items()}
            for row in card["history"]
        ]
    return translated


def _join_cards(cards: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """What `ModelConfig.from_dict` takes, of stages whose cards hold recipes."""
    words, sentences, evaluator = (
        cards.get(kind, {}) for kind in ("lexical-fcn", "captioner", "evaluator")
    )
    recipes = [stage.get("recipe", {}) for stage in (words, sentences, evaluator)]
    recipe = recipes[1] or recipes[0] or recipes[2]
    library, streams = recipe.get("library", {}), sentences.get("streams", {})
    config: dict[str, Any] = {
        "eyes": words.get("eyes", {}),
        "words": words.get("words", {}),
        "frames": _rename(recipe.get("sampling", {}), frames="most"),
        "regions": {"k": library["k"]} if "k" in library else {},
        "boxes": {"fit": "grid"} if "encoder" in words else {},
        "association": _rename(_pick(library, "pairing", "most"), pairing="method"),
        "captioner": sentences.get("captioner", {}),
        "evaluator": evaluator.get("evaluator", {}),
        "training": _join_training(*recipes),
        "about": recipe.get("about", {}),
    }
    if streams:
        dropout = recipe.get("streams", {}).get("dropout", {})
        named = {level: [*widths] for level, widths in streams.items()}
        known = {name for level in named.values() for name in level}
        config["streams"] = named | {"dropout": {n: s for n, s in dropout.items() if n in known}}
        if "words" in library:
            config["streams"]["lexicon_size"] = library["words"]
    return config


def _join_training(
    words: Mapping[str, Any], sentences: Mapping[str, Any], evaluator: Mapping[str, Any]
) -> dict[str, Any]:
    training: dict[str, Any] = {}
    if words:
        learned = _rename(words.get("words", {}), frames="frames_per_clip")
        known = words.get("start", {}) | learned | words.get("training", {})
        training["words"] = [_take(WordTrainingConfig, known)]
    if sentences:
        learned = _rename(sentences.get("sentences", {}), sentences="captions_per_clip")
        known = learned | sentences.get("training", {})
        training["sentences"] = _take(SentenceTrainingConfig, known)
    if evaluator:
        known = _rename(evaluator.get("lessons", {}), **_LESSONS) | evaluator.get("training", {})
        training["evaluator"] = _take(EvaluatorTrainingConfig, known)
    return training


def _rename(section: Mapping[str, Any], **names: str) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in section.items()}


def _pick(section: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: section[name] for name in names if name in section}


def _take(kind: type[Any], section: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that the dataclass has."""
    return _pick(section, *(field.name for field in fields(kind)))
