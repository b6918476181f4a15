"""`densevidcap words`: what the Lexical-FCN sees in a clip."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from typing import TYPE_CHECKING

import click

from densevidcap.cli.clips import MODEL_S, OVERWRITE, name_files, show_progress
from densevidcap.cli.printing import echo
from densevidcap.outputs import Inputs, check_outputs

if TYPE_CHECKING:
    from densevidcap.data.clip import Clip
    from densevidcap.models.shown_words import ShownWord
    from densevidcap.types import Frames
    from densevidcap.viz.responses import ResponseMap


@click.command("words")
@click.argument("source", metavar="CLIP")
@click.option("--model", type=click.Path(path_type=Path), help="Folder of a Lexical-FCN.")
@click.option("--frames", type=click.IntRange(1), help=f"To look at.{MODEL_S}")
@click.option("--top", default=20, show_default=True, type=click.IntRange(1), help="Words to list.")
@click.option("--all", "all_words", is_flag=True, help="List words such as 'a' and 'of' too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option(
    "--word",
    "wanted",
    multiple=True,
    help="Draw this word's response map over the clip, as PNG and MP4; repeat for more.",
)
@click.option(
    "--out",
    default=".",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for what --word draws.  [default: here]",
)
@OVERWRITE
def command(
    source: str,
    model: Path | None,
    frames: int | None,
    top: int,
    all_words: bool,
    as_json: bool,
    wanted: tuple[str, ...],
    out: Path,
    overwrite: bool,
) -> None:
    """The words that CLIP shows, each with the place and time where it is strongest.

    With --word only these words are listed, and each is drawn: frames on a
    sheet and the whole clip, under the responses of their regions.
    """
    from densevidcap.cli.console import Console
    from densevidcap.data.clip import open_clip
    from densevidcap.data.sampling import Sampling
    from densevidcap.model_folder import CARD, find_model, read_model_config
    from densevidcap.models.shown_words import find_word, rank_words, show_word
    from densevidcap.models.word_detector import LexicalFCN
    from densevidcap.pipeline.captioner import RANKING
    from densevidcap.pipeline.confidence import Trust
    from densevidcap.pipeline.word_boxes import place_words
    from densevidcap.viz.responses import ResponseMap, level

    clip = open_clip(source)
    if wanted:
        clip.require_pictures("drawing")
    with Console(stderr=True).status("Looking at the clip"):
        folder = find_model(model, "words")
        fcn, config = LexicalFCN.load(folder), read_model_config(folder)
        if frames is not None:
            config = config.override({"frames.most": frames})
        places = list(dict.fromkeys(find_word(fcn.lexicon, word) for word in wanted))
        start = out / name_files([source])[source]
        drawings = [_name_drawings(start, fcn.lexicon.entries[place].word) for place in places]
        planned = [path for pair in drawings for path in pair]
        check_outputs(planned, Inputs([source], [model]), overwrite)
        sampled = clip.sample(Sampling.of(config.frames), fcn.encoder.form)
        seen = fcn.read(sampled)
    if wanted:
        words = [show_word(seen, fcn.lexicon, place) for place in places]
    else:
        words = rank_words(seen, fcn.lexicon, top, all_words)
    # A stage that stands alone was never calibrated; that of a whole model was, beside it.
    whole = folder.parent
    trust = Trust.load(whole / RANKING) if (whole / CARD).is_file() else Trust()
    words = [trust.rate_word(word) for word in words]
    if as_json:
        echo(json.dumps({"clip": source, "words": [_as_json(word) for word in words]}))
    else:
        _print_table(words)
    for place, word, (sheet, video) in zip(places, words, drawings, strict=False):
        maps = fcn.map_words(seen, [place], config.boxes.window)
        boxes = tuple(each.box for each in place_words(fcn, seen, [word.word], config.boxes))
        closely, regions = (
            trust.region.apply(each)
            for each in (maps.probabilities[:, :, 0], seen.probabilities[:, :, place])
        )
        responses = level(closely, regions.max(axis=1))
        response = ResponseMap(word, maps.grid, seen.times, responses, boxes)
        _draw(response, clip, sampled, sheet, video)


def _as_json(word: ShownWord) -> dict[str, object]:
    content = asdict(word) | {"box": astuple(word.box), "frame": word.source_frame}
    return {name: content[name] for name in content if name not in ("index", "source_frame")}


_READING = (
    "clip: the chance that people name it, judged by the whole clip\n"
    "region: the same, judged by its best place alone, the box\n"
    "box: left, top, right, bottom in hundredths"
)


def _print_table(words: Sequence[ShownWord]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from densevidcap.cli.console import Console
    from densevidcap.cli.view import name_place

    table = Table("word", "", box=box.SIMPLE_HEAD, caption=_READING, caption_justify="left")
    for heading in ("clip", "region", "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("place", no_wrap=True)
    table.add_column("box", no_wrap=True)
    for word in words:
        table.add_row(
            word.word,
            Text(word.pos.lower(), "dim"),
            f"{word.probability:.1%}",
            f"{word.peak:.1%}",
            f"{word.time:.2f} s",
            name_place(word.box),
            Text(" ".join(f"{100 * edge:.0f}" for edge in astuple(word.box)), "dim"),
        )
    Console().print(table)


def _name_drawings(start: Path, word: str) -> tuple[Path, Path]:
    """A sheet and a video, `start`-WORD.png and .mp4."""
    return start.with_name(f"{start.name}-{word}.png"), start.with_name(f"{start.name}-{word}.mp4")


def _draw(response: ResponseMap, clip: Clip, frames: Frames, sheet: Path, video: Path) -> None:
    from densevidcap.files import replacing
    from densevidcap.viz.responses import draw_sheet, write_response_video

    with replacing(sheet) as temporary:
        shape = clip.info.width, clip.info.height
        draw_sheet(response, frames, shape).save(temporary, "PNG")
    with show_progress() as progress:
        drawing = progress.add_task(f"Drawing '{response.shown.word}'", total=len(clip.times()))
        write_response_video(response, clip, video, lambda: progress.advance(drawing))
    echo(f"{sheet}\n{video}", err=True)
