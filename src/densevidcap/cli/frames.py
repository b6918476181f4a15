"""`densevidcap frames`: what a captioner would see and hear of each clip."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from densevidcap.cli.clips import FAIL_FAST, OVERWRITE, visit_clips
from densevidcap.cli.printing import echo
from densevidcap.outputs import Inputs, check_outputs

if TYPE_CHECKING:
    from PIL import Image

    from densevidcap.data.clip import Clip, ClipInfo
    from densevidcap.data.sampling import Shot, Strategy
    from densevidcap.types import Frames


@dataclass(frozen=True)
class Report:
    """What the verb tells about a clip."""

    clip: str
    info: ClipInfo
    shots: list[Shot]
    sound: float | None
    """Seconds to hear; None if there is nothing."""
    times: list[float]
    """Seconds of the sampled frames."""

    def as_json(self) -> dict[str, object]:
        fields = asdict(self)
        return {"clip": fields.pop("clip"), **fields.pop("info"), **fields}


@click.command("frames")
@click.argument("clips", nargs=-1, required=True, metavar="CLIP...")
@click.option("--frames", default=30, show_default=True, type=click.IntRange(1), help="How many.")
@click.option(
    "--strategy",
    default="uniform",
    show_default=True,
    type=click.Choice(["uniform", "jittered", "random", "shots"]),
    help="How to choose them.",
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="For the random strategies.",
)
@click.option(
    "--size", default=320, show_default=True, type=click.IntRange(1), help="Both sides, in pixels."
)
@click.option(
    "--frame-rate",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Frames a second in folders and shards.",
)
@click.option(
    "--sheet", type=click.Path(path_type=Path, dir_okay=False), help="Write a contact sheet (PNG)."
)
@OVERWRITE
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@FAIL_FAST
def command(
    clips: tuple[str, ...],
    frames: int,
    strategy: str,
    seed: int,
    size: int,
    frame_rate: float,
    sheet: Path | None,
    overwrite: bool,
    as_json: bool,
    fail_fast: bool,
) -> None:
    """Sample each CLIP's frames and tell its length, size, shots and sound.

    A CLIP is a video, GIF, image, folder of images, or shard.tar::KEY. One that cannot be
    read is named, the others are shown, and the exit code is 1.
    """
    from densevidcap.data.clip import open_clip
    from densevidcap.data.sampling import Sampling

    if sheet is not None:
        check_outputs([sheet], Inputs(clips), overwrite)
    sampling = Sampling(cast("Strategy", strategy), frames, seed)
    strips: list[Image.Image] = []

    def look(source: str, _: object) -> Report:
        clip = open_clip(source, frame_rate=frame_rate)
        frames = clip.sample(sampling, (size, size))
        report = _tell(clip, frames)
        # Of many clips they take much memory.
        if sheet is not None:
            strips.append(_draw(clip, frames))
        return report

    reports = visit_clips(clips, "Reading", look, fail_fast)
    if as_json:
        echo(json.dumps([report.as_json() for report in reports], indent=2))
    elif reports:
        _print_table(reports)
    if sheet is not None and strips:
        _save_sheet(strips, sheet)
    sys.exit(0 if len(reports) == len(clips) else 1)


def _tell(clip: Clip, frames: Frames) -> Report:
    from densevidcap.data.shots import find_shots

    rate = 16_000
    sound = clip.sound(rate)
    return Report(
        clip.name,
        clip.info,
        list(find_shots(clip)),
        None if sound is None else len(sound) / rate,
        frames.times.tolist(),
    )


def _draw(clip: Clip, frames: Frames) -> Image.Image:
    from densevidcap.viz.contact_sheet import draw_strip

    return draw_strip(clip.name, frames, (clip.info.width, clip.info.height))


def _print_table(reports: Sequence[Report]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from densevidcap.cli.console import Console

    table = Table("clip", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("time", "size", "fps", "frames", "shots", "sound"):
        table.add_column(heading, justify="right", no_wrap=True)
    for report in reports:
        info = report.info
        table.add_row(
            Text(Path(report.clip).name, overflow="fold"),
            _seconds(info.duration),
            f"{info.width}x{info.height}",
            "-" if info.frame_rate is None else f"{info.frame_rate:.4g}",
            f"{len(report.times)}/{info.frame_count}",
            str(len(report.shots)),
            _seconds(report.sound),
        )
    Console().print(table)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"


def _save_sheet(strips: Sequence[Image.Image], path: Path) -> None:
    from densevidcap.files import replacing
    from densevidcap.viz.contact_sheet import stack

    with replacing(path) as temporary:
        stack(strips).save(temporary, "PNG")
