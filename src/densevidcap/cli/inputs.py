"""The clips that a user names, one by one or by a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from densevidcap.cli.clips import name_files
from densevidcap.errors import ClipError, CorpusError


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
