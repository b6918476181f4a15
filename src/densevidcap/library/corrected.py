"""What people said of clips, as `densevidcap train` takes it: the way from watching to learning."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from os.path import lexists
from pathlib import Path

from densevidcap.data.manifest import ClipRecord, write_manifest
from densevidcap.errors import CorpusError
from densevidcap.library.store import Library

MANIFEST = "corrections.jsonl"


@dataclass(frozen=True)
class Lessons:
    """A manifest of corrections."""

    path: Path
    clips: int
    sentences: int
    missing: int
    """Clips that were put right but whose files are gone."""

    @property
    def command(self) -> str:
        """What learns from it."""
        return (
            f"densevidcap train {shlex.quote(str(self.path))} --out {shlex.quote(str(self.model))}"
        )

    @property
    def model(self) -> Path:
        """Where the command puts what it learned."""
        return self.path.with_name("model")


def write_lessons(library: Library, path: Path) -> Lessons:
    """Write a manifest of the sentences that people gave or approved of.

    What they left out teaches nothing: nobody said what is right instead.
    """
    records, missing = [], 0
    seen: set[str] = set()
    for source, place in library.list_files():
        identity = source.identity
        if identity is None or identity in seen:
            continue
        given = [each.caption for each in library.read_corrections(identity) if each.caption]
        texts = tuple(dict.fromkeys(caption.text.strip() for caption in given))
        if not texts:
            continue
        if not lexists(place.rpartition("::")[0] or place):
            missing += 1
            continue
        seen.add(identity)
        records.append(ClipRecord(identity, place, texts, None, "train"))
    if not records:
        reason = f"the files of {missing} are gone" if missing else "nothing was put right yet"
        raise CorpusError(
            f"{library.folder}: no sentences to learn from ({reason}); approve of some or change"
            " them, in the studio or by `densevidcap correct`"
        )
    write_manifest(path, records)
    return Lessons(path, len(records), sum(len(each.captions) for each in records), missing)
