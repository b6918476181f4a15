"""`densevidcap figures`: clips that people have described, drawn as the paper's supplement does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from densevidcap.cli.clips import FAIL_FAST, MODEL_S, OVERWRITE, keeping, name_by_ids, visit_clips
from densevidcap.cli.printing import echo
from densevidcap.outputs import Inputs, check_outputs

if TYPE_CHECKING:
    from PIL import Image
    from rich.progress import Progress


@click.command("figures")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    required=True,
    help="The manifest of clips with captions.",
)
@click.option("--model", type=click.Path(path_type=Path), help="Folder of a model.")
@click.option("-k", type=click.IntRange(1), help=f"Region-sequences of a clip.{MODEL_S}")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder to draw them into.",
)
@OVERWRITE
@FAIL_FAST
def command(
    ids: tuple[str, ...],
    data: Path,
    model: Path | None,
    k: int | None,
    out: Path,
    overwrite: bool,
    fail_fast: bool,
) -> None:
    """Draw the clips of these IDs of a manifest, in two pictures (PNG) each.

    ID-sheet.png has the region-sequences with what the model says of each on the left, and what
    people say on the right, each sentence with the sequence that Eq. 10 gives it to.
    ID-responses.png has where the words of two sentences are seen: of the person's that is shown
    best, and of the model's first. A clip that cannot be read is named, the others are drawn, and
    the exit code is 1.
    """
    from densevidcap.cli.console import Console
    from densevidcap.data.clip import open_clip
    from densevidcap.pipeline.captioner import DenseCaptioner
    from densevidcap.repro.figures import choose_described, describe_clip

    records = {record.id: record for record in choose_described(data, ids)}
    sources = {each: str(record.source) for each, record in records.items()}
    starts = name_by_ids(records)
    drawings = {
        each: (out / f"{starts[each]}-sheet.png", out / f"{starts[each]}-responses.png")
        for each in records
    }
    planned = [path for pair in drawings.values() for path in pair]
    check_outputs(planned, Inputs(sources.values(), [data, model]), overwrite)
    with Console(stderr=True).status("Loading the model"):
        captioner = DenseCaptioner.load(model)
    drawn: list[str] = []

    def draw(each: str, _: Progress) -> None:
        clip = open_clip(sources[each])
        figures = describe_clip(captioner, clip, each, records[each].captions, k)
        pictures = figures.draw_sheet(), figures.draw_responses()
        for picture, path in zip(pictures, drawings[each], strict=True):
            _save(picture, path)
        drawn.append(each)

    with keeping(lambda: f"drawings of {len(drawn)} of {len(records)} clips are kept"):
        visit_clips(sources, "Drawing", draw, fail_fast)
    sys.exit(0 if len(drawn) == len(records) else 1)


def _save(picture: Image.Image, path: Path) -> None:
    from densevidcap.files import replacing

    with replacing(path) as temporary:
        picture.save(temporary, "PNG")
    echo(path)
