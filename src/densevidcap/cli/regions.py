"""`densevidcap regions`: what moves through a clip, with words."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from densevidcap.cli.clips import FAIL_FAST, MODEL_S, OVERWRITE, keeping, name_files, visit_clips
from densevidcap.cli.printing import echo
from densevidcap.outputs import Inputs, check_outputs

if TYPE_CHECKING:
    from rich.progress import Progress

    from densevidcap.data.clip import Clip
    from densevidcap.regions.words import WordedSequence
    from densevidcap.types import Frames


@click.command("regions")
@click.argument("clips", nargs=-1, required=True, metavar="CLIP...")
@click.option("--model", type=click.Path(path_type=Path), help="Folder of a Lexical-FCN.")
@click.option("-k", type=click.IntRange(1), help=f"How many.{MODEL_S}")
@click.option(
    "--diversity",
    type=click.FloatRange(0),
    help=f"Weight of differing from the others; more spreads them out.{MODEL_S}",
)
@click.option(
    "--optimiser",
    "search",
    type=click.Choice(["frame-order", "every-start", "celf"]),
    help=f"How to search; every-start follows things better and takes longer.{MODEL_S}",
)
@click.option("--frames", type=click.IntRange(1), help=f"To look at.{MODEL_S}")
@click.option("--top", default=5, show_default=True, type=click.IntRange(1), help="Words of each.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to draw them into: the moving clip (MP4) and a sheet of frames (PNG).",
)
@OVERWRITE
@FAIL_FAST
def command(
    clips: tuple[str, ...],
    model: Path | None,
    k: int | None,
    diversity: float | None,
    search: str | None,
    frames: int | None,
    top: int,
    as_json: bool,
    out: Path | None,
    overwrite: bool,
    fail_fast: bool,
) -> None:
    """Region-sequences of each CLIP, with the words that each shows best beyond the others.

    The arrows of a sequence point to where it is from start to end, a dot being the middle.
    A CLIP that cannot be read is named, the others are shown, and the exit code is 1.
    """
    from densevidcap.data.clip import open_clip
    from densevidcap.data.sampling import Sampling
    from densevidcap.model_folder import find_model, read_model_config
    from densevidcap.models.word_detector import LexicalFCN
    from densevidcap.regions import generate_sequences
    from densevidcap.regions.words import choose_words

    drawings = {} if out is None else _name_drawings(clips, out)
    planned = [path for pair in drawings.values() for path in pair]
    check_outputs(planned, Inputs(clips, [model]), overwrite)
    folder = find_model(model, "words")
    fcn, config = LexicalFCN.load(folder), read_model_config(folder)
    given: dict[str, Any] = {"regions.k": k, "regions.search": search, "frames.most": frames}
    if diversity is not None:
        given["regions.terms"] = _weigh_divergence(config.regions.terms, diversity)
    config = config.override({name: value for name, value in given.items() if value is not None})
    drawn: set[str] = set()

    def look_at(source: str, progress: Progress) -> tuple[str, list[WordedSequence]]:
        clip = open_clip(source)
        if source in drawings:
            clip.require_pictures("drawing")
        sampled = clip.sample(Sampling.of(config.frames), fcn.encoder.form)
        seen = fcn.read(sampled)
        worded = choose_words(generate_sequences(seen, config.regions), seen, fcn.lexicon, top)
        if source in drawings and source not in drawn:
            _draw(worded, clip, sampled, *drawings[source], progress)
            drawn.add(source)
        return source, worded

    with keeping(lambda: f"drawings of {len(drawn)} of {len(drawings)} clips are kept"):
        found = visit_clips(clips, "Looking", look_at, fail_fast)
    if as_json:
        echo(json.dumps([_as_json(*each) for each in found]))
    else:
        for each in found:
            _print_table(*each)
    sys.exit(0 if len(found) == len(clips) else 1)


def _weigh_divergence(terms: Mapping[str, float], weight: float) -> dict[str, float]:
    """The terms of the objective with that weight for differing."""
    known = [name for name in terms if name.endswith("divergence")] or ["nearest_divergence"]
    return {**terms, **dict.fromkeys(known, weight)}


def _as_json(source: str, worded: Sequence[WordedSequence]) -> dict[str, object]:
    sequences = [
        {
            "start": each.sequence.start,
            "end": each.sequence.end,
            "words": [{"word": w.word, "probability": w.probability} for w in each.words],
            "times": each.sequence.times,
            "boxes": [astuple(box) for box in each.sequence.boxes],
        }
        for each in worded
    ]
    return {"clip": source, "sequences": sequences}


def _print_table(source: str, worded: Sequence[WordedSequence]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from densevidcap.cli.console import Console
    from densevidcap.cli.view import sketch_way
    from densevidcap.viz.colours import colour_of

    table = Table(box=box.SIMPLE_HEAD, title=Text(Path(source).name), title_justify="left")
    table.add_column("", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    table.add_column("way", no_wrap=True)
    table.add_column("words")
    for number, each in enumerate(worded):
        colour = colour_of(number)
        words = Text(", ").join(
            Text.assemble(word.word, (f"\u00a0{word.probability:.0%}", "dim"))
            for word in each.words
        )
        table.add_row(
            Text(f"{number + 1} {colour.name}", "rgb({},{},{})".format(*colour.rgb)),
            f"{each.sequence.start:.1f}-{each.sequence.end:.1f}",
            sketch_way(each.sequence.boxes),
            words,
        )
    Console().print(table)


def _name_drawings(clips: Sequence[str], out: Path) -> dict[str, tuple[Path, Path]]:
    """A sheet and a video of each clip, NAME-regions.png and .mp4."""
    return {
        clip: (out / f"{name}-regions.png", out / f"{name}-regions.mp4")
        for clip, name in name_files(clips).items()
    }


def _draw(
    worded: Sequence[WordedSequence],
    clip: Clip,
    frames: Frames,
    sheet: Path,
    video: Path,
    progress: Progress,
) -> None:
    from densevidcap.files import replacing
    from densevidcap.viz.sequences import draw_sheet, write_overlay_video

    drawing = progress.add_task(f"Drawing {video.name}", total=len(clip.times()))
    with replacing(sheet) as temporary:
        shape = clip.info.width, clip.info.height
        draw_sheet(worded, frames, shape).save(temporary, "PNG")
    write_overlay_video(worded, clip, video, lambda: progress.advance(drawing))
    progress.remove_task(drawing)
    echo(f"{sheet}\n{video}", err=True)
