"""`densevidcap lexicon`: the words that the Lexical-FCN looks for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from densevidcap.cli.clips import OVERWRITE, show_progress
from densevidcap.cli.printing import echo
from densevidcap.outputs import Inputs, check_outputs

if TYPE_CHECKING:
    from densevidcap.data.lexicon import Lexicon
    from densevidcap.data.manifest import ClipRecord

_SHOWN = 20
"""Words shown of each part of speech."""


@click.command()
@click.option(
    "--captions",
    type=click.Path(path_type=Path),
    required=True,
    help="A manifest (.jsonl) or MSR-VTT's annotations (.json), plain or .gz.",
)
@click.option("--split", default="train", show_default=True, help="Whose captions to read.")
@click.option("--min-count", default=5, show_default=True, help="Least occurrences of a word.")
@click.option("--min-videos", default=1, show_default=True, help="Least videos that have it.")
@click.option(
    "--pos",
    multiple=True,
    metavar="TAG",
    help="Keep only this part of speech (NOUN, PROPN, VERB, ...); repeat for more.  [default: all]",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The lexicon: .json.")
@OVERWRITE
def command(
    captions: Path,
    split: str,
    min_count: int,
    min_videos: int,
    pos: tuple[str, ...],
    out: Path,
    overwrite: bool,
) -> None:
    """Build the lexicon of a corpus from its captions.

    The paper's rule: every word that occurs at least five times, but the eight
    function words is, are, at, on, in, with, and, to.
    """
    from densevidcap.data.lexicon import build_lexicon
    from densevidcap.errors import CorpusError

    check_outputs([out], Inputs(files=[captions]), overwrite)
    of_video = {clip.id: clip.captions for clip in _read_clips(captions) if clip.split == split}
    if not of_video:
        raise CorpusError(f"{captions}: no clip of split '{split}'; name another with --split")
    lexicon = build_lexicon(
        of_video,
        _tag_with_progress,
        min_count=min_count,
        min_videos=min_videos,
        pos={tag.upper() for tag in pos} or None,
    )
    if not len(lexicon):
        raise CorpusError(
            f"{captions}: no word of split '{split}' is frequent enough; "
            "lower --min-count or --min-videos, or allow more parts of speech"
        )
    lexicon.save(out)
    _show(lexicon)
    echo(f"{len(lexicon):,} words of {len(of_video):,} videos in {out}")


def _read_clips(path: Path) -> Iterator[ClipRecord]:
    from densevidcap.data.manifest import read_manifest
    from densevidcap.data.msrvtt import read_annotations

    return read_annotations(path) if ".json" in path.suffixes else read_manifest(path)


def _tag_with_progress(sentences: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    from densevidcap.data.lexicon import tag_sentences

    with show_progress() as progress:
        yield from progress.track(
            tag_sentences(sentences), len(sentences), description="Tagging captions"
        )


def _show(lexicon: Lexicon) -> None:
    from rich.table import Column, Table

    from densevidcap.cli.console import Console

    words = defaultdict(list)
    for entry in lexicon.entries:
        words[entry.pos].append(entry.word)
    table = Table("part of speech", Column("words", justify="right"), f"{_SHOWN} most frequent")
    for pos in sorted(words, key=lambda pos: -len(words[pos])):
        table.add_row(pos, f"{len(words[pos]):,}", " ".join(words[pos][:_SHOWN]))
    Console().print(table)
