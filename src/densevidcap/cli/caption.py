"""`densevidcap caption`: several different sentences for a clip, each tied to what it is about."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import click

from densevidcap.cli.caption_set import Place, SetRun, caption_set, choose_library, list_asked
from densevidcap.cli.clips import (
    FAIL_FAST,
    MODEL_S,
    OVERWRITE,
    Output,
    keeping,
    list_clips,
    plan_outputs,
    set_option,
    visit_clips,
)
from densevidcap.cli.printing import echo
from densevidcap.export.formats import FORMATS, SET_FORMATS, check_pictures
from densevidcap.outputs import Inputs, check_outputs

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from densevidcap.data.clip import Clip
    from densevidcap.library.inputs import Pictures
    from densevidcap.pipeline.analysis import Segment
    from densevidcap.pipeline.captioner import Report, Step
    from densevidcap.types import Caption, DenseCaptions

DOING = {
    "shots": "finding shots",
    "frames": "decoding",
    "words": "looking",
    "regions": "following regions",
    "sentences": "finding sentences",
    "ranking": "ranking",
}
"""A step to what is going on in it."""


@click.command("caption")
@click.argument("clips", nargs=-1, required=True, metavar="CLIP...")
@click.option("--model", type=click.Path(path_type=Path), help="Folder of a model.")
@click.option("-k", type=click.IntRange(1), help=f"Sentences of a clip, shot or scene.{MODEL_S}")
@click.option(
    "--diversity",
    type=click.FloatRange(0),
    help=f"What it costs a sentence to be like those before; more makes them differ.{MODEL_S}",
)
@click.option("--frames", type=click.IntRange(1), help=f"Of a clip or shot.{MODEL_S}")
@click.option(
    "--beam",
    type=click.IntRange(1),
    help=f"Beginnings of sentences that are followed at once.{MODEL_S}",
)
@click.option(
    "--seed", type=click.IntRange(0), help=f"Of the sentences sampled at random.{MODEL_S}"
)
@click.option(
    "--sure",
    type=click.FloatRange(0, 1),
    help=f"Least confidence of sentences: from many and different to few and sure.{MODEL_S}",
)
@click.option(
    "--raw",
    is_flag=True,
    help="Every sentence as the captioner says it, however sure: for `densevidcap evaluate`.",
)
@click.option(
    "--fast",
    is_flag=True,
    help="Fewer frames, and fewer sentences to choose from: a third of the time, a little worse.",
)
@click.option(
    "--per-shot/--whole",
    default=None,
    help="Describe each shot by itself, or all at once.  [default: a clip of more than a minute "
    "scene by scene]",
)
@set_option
@click.option("--story", is_flag=True, help="Also tell it as a short text.")
@click.option(
    "--format",
    "kinds",
    multiple=True,
    type=click.Choice([*FORMATS, *(kind for kind in SET_FORMATS if kind not in FORMATS)]),
    help="Write a file of this format for each clip, or of all of a library; repeat for more.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for files, or one file whose ending tells its format.  [default: here]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option(
    "--predictions",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write all clips' sentences into this file, for `densevidcap evaluate`.",
)
@OVERWRITE
@FAIL_FAST
@click.option("--split", help="Only the clips of this split of a manifest.")
@click.option(
    "--library",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder that keeps the results of all clips: what is done is not done again.  "
    "[default: FOLDER.library, for a FOLDER of videos]",
)
@click.option(
    "--include",
    multiple=True,
    metavar="PATTERN",
    help="Only those files of a FOLDER, as in 'shoot*/*.mov'; repeat for more.",
)
@click.option(
    "--exclude", multiple=True, metavar="PATTERN", help="No such files of a FOLDER; the same."
)
@click.option(
    "--pictures",
    type=click.Choice(["auto", "frames", "clips", "ignore"]),
    default="auto",
    show_default=True,
    help="What pictures in a FOLDER are: frames of one clip unless there are videos (auto), in any "
    "case (frames), a clip each (clips), or nothing (ignore).",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Processes that caption at once, with a model each; for a library.  [default: as many "
    "as CPUs, where memory and clips are enough; on Ray as many as CPUs but one]",
)
@click.option(
    "--on",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Where: in processes of this machine, or on a Ray cluster; for a library.",
)
@click.option(
    "--address",
    help="Of a Ray cluster, as host:port or auto.  [default: RAY_ADDRESS, else one that is started "
    "here and ended again]",
)
def command(
    clips: tuple[str, ...],
    model: Path | None,
    k: int | None,
    diversity: float | None,
    frames: int | None,
    beam: int | None,
    seed: int | None,
    sure: float | None,
    raw: bool,
    fast: bool,
    per_shot: bool | None,
    others: dict[str, Any],
    story: bool,
    kinds: tuple[str, ...],
    out: Path | None,
    as_json: bool,
    predictions: Path | None,
    overwrite: bool,
    fail_fast: bool,
    split: str | None,
    library: Path | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    pictures: Pictures,
    workers: int | None,
    on: Place,
    address: str | None,
) -> None:
    """Sentences of each CLIP, the best first, with what each rests on.

    A CLIP is a video, GIF, picture, folder of frames, shard.tar::member, features (.npy or
    features.h5::key) for a model that was trained on such, or a manifest (.jsonl) that stands for
    its clips; a FOLDER of videos at any depth, a pattern in quotes, a list of paths (.txt), or -
    for standard input. Below a sentence are its words with the probability that its own region
    shows them; a question mark is after words that it does not show. Arrows point to where the
    region is, from start to end. A CLIP of more than a minute is a film: its scenes are told while
    it is read, then its chapters and a summary. A CLIP that cannot be read is named, the others are
    captioned, and the exit code is 1.

    The results of a FOLDER of videos are kept in a library, as those of any CLIPs with --library:
    run it again to go on after an interruption or with what is new. `densevidcap find` searches
    it, `densevidcap export` writes files of it.
    """
    from densevidcap.cli.console import Console

    if address is not None and on != "ray":
        raise click.UsageError("--address is of a Ray cluster: add --on ray")
    listing = list_asked(clips, library, include, exclude, pictures)
    library = library or choose_library(listing)
    keywords = {
        "k": k,
        "diversity": diversity,
        "frames": frames,
        "beam": beam,
        "seed": seed,
        "sure": sure,
        "per_shot": per_shot,
    }
    if library is not None:
        refused = {"--out": out, "--json": as_json, "--story": story, "--predictions": predictions}
        with Console(stderr=True).status("Loading the model"):
            settings = _resolve(keywords, others, raw, fast)
        caption_set(
            SetRun(
                listing,
                library,
                model,
                settings,
                kinds,
                overwrite,
                fail_fast,
                workers,
                on,
                address,
            ),
            split,
            [option for option, value in refused.items() if value],
        )
    if on != "local":
        raise click.UsageError(f"--on {on} is for a library: name one with --library")
    if set_only := [kind for kind in kinds if kind not in FORMATS]:
        raise click.UsageError(f"--format {set_only[0]} is of a library: name one with --library")
    clips = tuple(clip.source for clip in listing.clips)
    sources = list_clips(clips, split)
    inputs = Inputs(sources.values(), [*clips, model])
    outputs = plan_outputs(sources, kinds, out, inputs)
    planned = [path for of_clip in outputs.values() for _, path in of_clip]
    check_outputs([*planned, *([predictions] if predictions else [])], inputs, overwrite)
    console = Console()
    with Console(stderr=True).status("Loading the model"):
        from densevidcap.cli.view import print_captions, print_outline, print_scene, sample_strip
        from densevidcap.data.clip import open_clip
        from densevidcap.data.shots import is_film
        from densevidcap.pipeline.captioner import DenseCaptioner
        from densevidcap.pipeline.story import tell

        captioner = DenseCaptioner.load(model)
    settings = _resolve(keywords, others, raw, fast)
    config = captioner.override(settings)

    described: dict[str, DenseCaptions] = {}

    def describe(name: str, progress: Progress) -> None:
        clip = open_clip(sources[name])
        for kind, _ in outputs[name]:
            check_pictures(clip, kind)
        began, is_told = process_time(), is_film(clip, config.frames)

        def show(segment: Segment, said: Sequence[Caption]) -> None:
            if is_told and not as_json:
                with _making_way(progress):
                    print_scene(console, (segment.start, segment.end), said)

        with _following(progress, name) as report:
            captions = captioner.narrate(clip, settings, report, tell=show).finish()
        if is_told:
            _tell_cost(captions, process_time() - began)
        _write(captions, clip, outputs[name], progress, overwrite)
        if predictions is not None:
            # After each clip, so that a kill costs no more than the one in work.
            _write_predictions(predictions, {**described, name: captions})
        described[name] = captions
        if not as_json:
            # At once, since many clips take long.
            with _making_way(progress):
                told = tell(captions) if story else None
                if is_told:
                    print_outline(console, captions, told)
                else:
                    print_captions(console, captions, sample_strip(clip, console), told)

    with keeping(lambda: _tell_kept(len(described), len(sources))):
        visit_clips(sources, "Captioning", describe, fail_fast)
        if predictions is not None and not described:
            _write_predictions(predictions, described)
    if as_json:
        _print_json(described.values(), story)
    sys.exit(0 if len(described) == len(sources) else 1)


def _resolve(
    keywords: Mapping[str, Any], others: Mapping[str, Any], raw: bool, fast: bool
) -> dict[str, Any]:
    """Settings by their dotted names: options before --set, and that before --raw and --fast."""
    from densevidcap.pipeline.captioner import FAST, RAW, name_settings

    flags = {**(FAST if fast else {}), **(RAW if raw else {})}
    return {**flags, **others, **name_settings(**keywords)}


@contextmanager
def _making_way(progress: Progress) -> Iterator[None]:
    """For what is printed: the progress would be in its way."""
    progress.stop()
    yield
    progress.start()


def _tell_cost(captions: DenseCaptions, seconds: float) -> None:
    from densevidcap.data.text import time_code

    rate = 60 * seconds / captions.duration
    echo(
        f"{captions.source}: {time_code(captions.duration)} of film in {seconds:,.0f} CPU-seconds, "
        f"{rate:.1f} a minute of film",
        err=True,
    )


@contextmanager
def _following(progress: Progress, name: str) -> Iterator[Report]:
    """Shows the step that a clip is in, and how far it is."""
    task = progress.add_task(name, total=1.0)

    def report(step: Step, share: float) -> None:
        progress.update(task, description=f"{name}: {DOING[step]}", completed=share)

    try:
        yield report
    finally:
        progress.remove_task(task)


def _write(
    captions: DenseCaptions,
    clip: Clip,
    outputs: Sequence[Output],
    progress: Progress,
    overwrite: bool,
) -> None:
    from densevidcap.export import save

    for kind, path in outputs:
        task = progress.add_task(f"Writing {path.name}", total=len(clip.times()))

        def advance(task: TaskID = task) -> None:
            progress.advance(task)

        save(captions, path, kind, clip, advance, overwrite)
        progress.remove_task(task)
        echo(path, err=True)


def _write_predictions(path: Path, described: Mapping[str, DenseCaptions]) -> None:
    from densevidcap.model_folder import write_json

    write_json(path, {name: [each.text for each in said] for name, said in described.items()})


def _tell_kept(done: int, of: int) -> str:
    return (
        f"{done} of {of} clips are done and their files kept: caption the others, "
        "or all of them with --overwrite"
    )


def _print_json(described: Iterable[DenseCaptions], story: bool) -> None:
    """A list of what `--format json` writes, with the stories if they are asked for."""
    from densevidcap.export.json_file import to_dict
    from densevidcap.pipeline.story import tell

    rows = [to_dict(said) | ({"story": tell(said)} if story else {}) for said in described]
    echo(json.dumps(rows, indent=1))
