"""MSVD (Microsoft Research Video Description Corpus): 1,970 clips, as text or as the full CSV."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from densevidcap.data.manifest import ClipRecord
from densevidcap.data.text_files import open_text, read_csv
from densevidcap.errors import CorpusError

SPLITS = {"train": 1200, "validate": 100, "test": 670}
"""Clips of each split, in the order of the clips' ids: the division that the field uses."""


def read_descriptions(path: Path) -> Iterator[ClipRecord]:
    """The clips of AllVideoDescriptions.txt or of the corpus's CSV, English only, without sources.

    A clip's id is `<YouTube id>_<start>_<end>`, the name of its video file. The
    splits follow the ids' code-point order, which is how the field numbers the
    clips (vid1 to vid1970); neither file keeps to it reliably.
    """
    pairs = _read_csv(path) if ".csv" in path.suffixes else _read_text(path)
    captions: defaultdict[str, list[str]] = defaultdict(list)
    for clip_id, sentence in pairs:
        captions[clip_id].append(sentence)
    expected = sum(SPLITS.values())
    if len(captions) != expected:
        raise CorpusError(
            f"{path}: {len(captions):,} clips instead of {expected:,}, so the usual splits are "
            "unknown; use the whole file, or name the splits in a table: densevidcap prepare table"
        )
    splits = (split for split, size in SPLITS.items() for _ in range(size))
    for clip_id, split in zip(sorted(captions), splits, strict=True):
        yield ClipRecord(clip_id, None, tuple(captions[clip_id]), None, split)


def _read_text(path: Path) -> Iterator[tuple[str, str]]:
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            clip_id, _, sentence = line.strip().partition(" ")
            if not sentence:
                raise CorpusError(f"{path}:{number}: expected 'clip-id sentence'")
            yield clip_id, sentence.strip()


def _read_csv(path: Path) -> Iterator[tuple[str, str]]:
    for number, row in read_csv(path):
        try:
            clip_id = f"{row['VideoID']}_{row['Start']}_{row['End']}"
            language, sentence = row["Language"], row["Description"]
        except KeyError as error:
            raise CorpusError(f"{path}:{number}: no column {error}; is this MSVD's CSV?") from error
        if language == "English" and sentence and sentence.strip():
            yield clip_id, " ".join(sentence.split())
