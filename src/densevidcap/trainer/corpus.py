"""A user's table as a corpus to train on: some clips held out, faults named before any work."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from densevidcap.data.manifest import ClipRecord
from densevidcap.data.tables import read_table
from densevidcap.errors import CorpusError
from densevidcap.fits import HELD_OUT

SHARE = 0.1
"""Of the clips, to hold out where the table holds out none."""
LEAST = 3
"""Clips: two to learn from, since the evaluator tells clips apart, and one to measure on."""


@dataclass(frozen=True)
class OwnCorpus:
    records: tuple[ClipRecord, ...]
    """Those with captions, for training or held out."""
    chosen: bool
    """Whether the held-out clips were chosen here and not in the table."""

    @property
    def trained(self) -> list[ClipRecord]:
        return [record for record in self.records if record.split == "train"]

    @property
    def held_out(self) -> list[ClipRecord]:
        return [record for record in self.records if record.split in HELD_OUT]

    def fingerprint(self) -> str:
        """Changes with any clip, caption, category or split."""
        rows = [
            asdict(record) | {"source": str(Path(str(record.source)).absolute())}
            for record in self.records
        ]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def read_corpus(table: Path, videos: Path | None = None, skip_missing: bool = False) -> OwnCorpus:
    """From a manifest, or any other table that `read_table` knows."""
    records = [
        record
        for record in read_table(table, videos, skip_missing)
        if record.captions and record.split in ("train", *HELD_OUT)
    ]
    if len(records) < LEAST:
        raise CorpusError(
            f"{table}: {len(records)} clips with captions of split 'train' or 'validate', "
            f"and at least {LEAST} are needed; add some"
        )
    chosen = not any(record.split in HELD_OUT for record in records)
    corpus = OwnCorpus(tuple(hold_out(records) if chosen else records), chosen)
    if len(corpus.trained) < LEAST - 1:
        raise CorpusError(
            f"{table}: {len(corpus.trained)} clips of split 'train' have captions, "
            f"and at least {LEAST - 1} are needed; add some"
        )
    return corpus


def hold_out(records: list[ClipRecord], share: float = SHARE) -> list[ClipRecord]:
    """The same clips, a share of them, at least one, to measure on.

    Which ones follows from their ids alone, so that the order of a table does not matter.
    """
    by_hash = sorted(records, key=lambda record: hashlib.sha256(record.id.encode()).hexdigest())
    kept_apart = {record.id for record in by_hash[: max(1, round(share * len(records)))]}
    return [replace(r, split=HELD_OUT[0]) if r.id in kept_apart else r for r in records]
