"""What verbs share that go through clips: inputs, progress, failures, and where files go."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from densevidcap.cli.printing import echo
from densevidcap.errors import ClipError, CorpusError, DenseVidCapWarning, OutputError
from densevidcap.outputs import Inputs

if TYPE_CHECKING:
    from rich.progress import Progress

MODEL_S = "  [default: the model's]"
"""Ends the help of an option that overrides one setting of the model's config."""


def parse_settings(_: object, __: object, given: Sequence[str]) -> dict[str, Any]:
    settings = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign:
            raise click.BadParameter(f"'{each}' is not NAME=VALUE, as in decoding.samples=0")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings


set_option = click.option(
    "--set",
    "others",
    multiple=True,
    metavar="NAME=VALUE",
    callback=parse_settings,
    help="Any setting of the model's config, as in decoding.samples=0; repeat for more.",
)


def list_clips(asked: Sequence[str], split: str | None = None) -> dict[str, str]:
    """Name to source: a manifest's clips under their ids, others under the names of their files.

    `split` chooses clips of manifests.
    """
    from densevidcap.data.manifest import read_manifest

    manifests = [path for path in asked if ".jsonl" in Path(path).suffixes]
    if split is not None and not manifests:
        raise click.UsageError("--split needs a manifest (.jsonl) among the clips")
    files = name_files(source for source in asked if source not in manifests)
    named = {name: source for source, name in files.items()}
    for path in manifests:
        records = [r for r in read_manifest(path) if split in (None, r.split)]
        if not records:
            raise CorpusError(f"{path}: no clip of split '{split}'; name another with --split")
        for record in records:
            if record.id in named:
                raise CorpusError(f"{path}: clip '{record.id}' is named twice; name it once")
            if record.source is None:
                raise ClipError(
                    f"{path}: clip '{record.id}' has no source; add it or choose a split"
                )
            named[record.id] = record.source
    return named


OVERWRITE = click.option(
    "--overwrite", is_flag=True, help="Replace files that stand there already."
)
"""Of every verb that writes files."""


class Output(NamedTuple):
    kind: str
    """The format's name."""
    path: Path


def plan_outputs(
    names: Iterable[str], kinds: Sequence[str], out: Path | None, inputs: Inputs
) -> dict[str, list[Output]]:
    """The files of each clip: `out` is a folder for them, or one file of the format of its ending.

    Without a format, a folder gets JSON; without a folder, files go where the user is. A file that
    would have the name of one that is read is called `NAME.captioned`.
    """
    from densevidcap.export import ENDINGS, find_format

    names = list(names)
    if out is not None and not out.is_dir() and out.suffix:
        if len(names) > 1 or kinds:
            raise click.UsageError(f"--out {out} is a file: give one clip and no --format")
        return {names[0]: [Output(find_format(out), out)]}
    if out is not None:
        kinds = kinds or ["json"]
    folder = out or Path()
    starts = name_by_ids(names)

    def place(name: str, kind: str) -> Path:
        usual = folder / f"{starts[name]}{ENDINGS[kind]}"
        return folder / f"{starts[name]}.captioned{ENDINGS[kind]}" if usual in inputs else usual

    return {
        name: [Output(kind, place(name, kind)) for kind in dict.fromkeys(kinds)] for name in names
    }


@contextmanager
def keeping(kept: Callable[[], str]) -> Iterator[None]:
    """Add to a fault of writing what is kept and how to go on."""
    try:
        yield
    except OutputError as error:
        raise OutputError(f"{error}; {kept()}") from error


T = TypeVar("T")


def show_progress() -> Progress:
    """On a terminal, and gone when it ends."""
    from rich.progress import Progress, TextColumn

    from densevidcap.cli.console import Console

    console = Console(stderr=True)
    _, *others = Progress.get_default_columns()
    # Names of files may look like Rich's markup.
    names = TextColumn("{task.description}", "progress.description", markup=False)
    return Progress(
        names, *others, console=console, transient=True, disable=not console.is_terminal
    )


FAIL_FAST = click.option(
    "--fail-fast", is_flag=True, help="Stop at the first clip that fails, instead of going on."
)


def visit_clips(
    sources: Sequence[str] | Mapping[str, str],
    doing: str,
    visit: Callable[[str, Progress], T],
    fail_fast: bool = False,
) -> list[T]:
    """What `visit` makes of each clip; one that fails is named at once, and again at the end.

    The others go on, unless `fail_fast`. Of a mapping, names are visited and sources are told.
    """
    from densevidcap.data.failures import naming
    from densevidcap.data.manifest import name_some

    told = sources if isinstance(sources, Mapping) else {}
    made, failed = [], []
    with show_progress() as progress:
        for source in progress.track(list(sources), description=doing):
            try:
                with (
                    naming(told.get(source, source)),
                    warnings.catch_warnings(record=True) as caught,
                ):
                    warnings.simplefilter("always", DenseVidCapWarning)
                    made.append(visit(source, progress))
            except ClipError as error:
                if fail_fast:
                    raise
                echo(f"densevidcap: {error}", err=True)
                failed.append(source)
                continue
            for message in {str(warning.message) for warning in caught}:
                echo(f"densevidcap: {message}", err=True)
    if failed and len(sources) > 1:
        count = f"{len(failed):,} of {len(sources):,} clips failed, as told above"
        echo(f"densevidcap: {count}: {name_some(failed)}", err=True)
    return made


def name_files(sources: Iterable[str]) -> dict[str, str]:
    """How the names of files about each clip begin: like its own, numbered where equal."""
    from densevidcap.data.names import drop_ending

    return _number(
        {each: drop_ending(Path(each.rpartition("::")[2]).absolute().name) for each in sources}
    )


def name_by_ids(ids: Iterable[str]) -> dict[str, str]:
    """The same of clips that have ids: folders in an id are part of it."""
    from densevidcap.data.names import drop_ending

    names = {}
    for each in ids:
        path = PurePath(drop_ending(each))
        parts = [part for part in path.parts if part not in ("..", path.anchor)]
        names[each] = "-".join(parts) or "clip"
    return _number(names)


def _number(names: Mapping[str, str]) -> dict[str, str]:
    """Names that differ only in the case of letters are equal to some file systems."""
    numbered: dict[str, str] = {}
    taken: set[str] = set()
    for each, name in names.items():
        further = (f"{name}-{number}" for number in count(2))
        numbered[each] = next(n for n in chain([name], further) if n.casefold() not in taken)
        taken.add(numbered[each].casefold())
    return numbered
