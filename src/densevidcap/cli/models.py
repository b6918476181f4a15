"""`densevidcap models`: which models there are, how good each is by its cards, and packing one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from densevidcap.cli.printing import echo

if TYPE_CHECKING:
    from rich.table import Table

SHOWN = {
    "words": ("map_frequent", "detection_top_k"),
    "sentences": ("val_loss",),
    "evaluator": ("auc", "clip_at_10"),
}
"""The figures of each stage that say most, from the last epoch, on held-out clips."""


class Part(NamedTuple):
    """A stage of a model, or the model as a whole."""

    stage: str
    megabytes: float
    clips: int | None
    """That it was trained on."""
    figures: Mapping[str, float]
    licence: str
    shared_eyes: str | None
    """The model of the package whose eyes it needs; None if it is whole."""


@click.command("models")
@click.argument("folders", nargs=-1, metavar="[upgrade|pack] [FOLDER]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--half", is_flag=True, help="Pack weights of 16 bits: half the size.")
def command(folders: tuple[str, ...], as_json: bool, half: bool) -> None:
    """The models that come with the package, or those in FOLDERs.

    Figures are those of clips that were not learned from, as the models' cards have them.

    `models upgrade FOLDER...` gives models of version 0.1 the card of today, with all settings that
    they were trained by. Their weights stay as they are.

    `models pack FOLDER OUT` writes a copy to hand on. A model whose eyes are those of a model that
    comes with the package does not store them: the copy does, and leaves out what training left.
    """
    if folders[:1] == ("upgrade",):
        _upgrade(folders[1:])
    elif folders[:1] == ("pack",):
        _pack(folders[1:], half)
    else:
        _list([*map(Path, folders)], as_json)


def _upgrade(folders: tuple[str, ...]) -> None:
    from densevidcap.model_folder import CARD, upgrade_model

    if not folders:
        raise click.UsageError("name the folder of the model to upgrade")
    for folder in map(Path, folders):
        upgrade_model(folder)
        echo(f"{folder / CARD}: written, with the model's settings; nothing else changed")


def _pack(folders: tuple[str, ...], half: bool) -> None:
    from densevidcap.models.shared_eyes import pack_model

    if len(folders) != 2:
        raise click.UsageError("name the folder of the model, and the one to write")
    out = Path(folders[1])
    pack_model(Path(folders[0]), out, half)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    echo(f"{out}: a whole model, {size / 1e6:.0f} MB")


def _list(folders: list[Path], as_json: bool) -> None:
    from densevidcap.cli.console import Console
    from densevidcap.model_folder import BUNDLED

    models = {folder: list(_read_model(folder)) for folder in folders or _list_models(BUNDLED)}
    if as_json:
        rows = {str(folder): [p._asdict() for p in parts] for folder, parts in models.items()}
        echo(json.dumps(rows, indent=1))
        return
    for folder, parts in models.items():
        Console().print(_tabulate(folder, parts))


def _list_models(bundled: Path) -> list[Path]:
    return sorted(folder for folder in bundled.parent.iterdir() if folder.is_dir())


def _read_model(folder: Path) -> Iterator[Part]:
    from densevidcap.errors import ModelError
    from densevidcap.model_folder import STAGES, read_card, read_model_card

    stages = [stage for stage in STAGES if (folder / stage).is_dir()]
    if not stages:
        raise ModelError(f"{folder}: no model; it should have a folder for each of {STAGES}")
    for stage in stages:
        card = read_card(folder / stage)
        last = card["history"][-1] if card.get("history") else {}
        figures = {name: last[name] for name in SHOWN[stage] if name in last}
        yield _describe(stage, folder / stage, card, figures)
    whole = read_model_card(folder)
    if whole:
        yield _describe("whole", folder, whole, whole.get("figures", {}))


def _describe(
    stage: str, folder: Path, card: Mapping[str, Any], figures: Mapping[str, float]
) -> Part:
    from densevidcap.models.shared_eyes import find_shared
    from densevidcap.train.stage import RUN

    # What a training left beside the model is no part of it.
    weights = (path for path in folder.rglob("*.safetensors") if RUN not in path.parts)
    clips = card.get("data", {}).get("clips")
    licence = card.get("licence", "not stated")
    megabytes = sum(path.stat().st_size for path in weights) / 1e6
    return Part(stage, megabytes, clips, figures, licence, find_shared(folder, card))


def _tabulate(folder: Path, parts: list[Part]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=Text(folder.resolve().name), title_justify="left")
    table.add_column("stage")
    table.add_column("MB", justify="right")
    table.add_column("clips", justify="right")
    table.add_column("on held-out clips")
    table.add_column("licence")
    for name in sorted({part.shared_eyes for part in parts if part.shared_eyes}):
        table.caption = Text(f"not whole: with the eyes of '{name}'; `models pack` adds them")
        table.caption_justify = "left"
    for part in parts:
        figures = ", ".join(f"{name} {value:.3g}" for name, value in part.figures.items())
        clips = "" if part.clips is None else f"{part.clips:,}"
        table.add_row(part.stage, f"{part.megabytes:.0f}", clips, figures, part.licence)
    return table
