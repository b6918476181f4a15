"""Predictions and references in files, and everything that is wrong with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.msrvtt import read_annotations
from densevidcap.data.text_files import read_json
from densevidcap.errors import CorpusError

_NAMED = 20
"""Videos that a fault names at most."""


@dataclass(frozen=True)
class SentenceFile:
    """The sentences of each video, and the faults that were found, each a line for the user."""

    path: Path
    sentences: Mapping[str, Sequence[str]]
    faults: Sequence[str] = ()


def read_predictions(path: Path) -> SentenceFile:
    """`{video: [sentence, ...]}`, the best first, `{video: sentence}`, or a COCO results list."""
    return _check(path, _read_rows(path))


def check_sentences(path: Path, said: Mapping[str, Sequence[str]]) -> SentenceFile:
    """The same of sentences that were read from elsewhere."""
    return _check(path, [(video, list(sentences)) for video, sentences in said.items()])


def read_references(path: Path, split: str | None = None) -> SentenceFile:
    """A manifest (.jsonl), MSR-VTT's JSON or `{video: [sentence, ...]}`, which has no splits."""
    if ".jsonl" in path.suffixes:
        return _choose_split(path, read_manifest(path), split)
    rows = _read_rows(path)
    if {"videos", "sentences"} <= {name for name, _ in rows}:
        return _choose_split(path, read_annotations(path), split)
    if split is not None:
        raise CorpusError(
            f"{path}: has no splits, so no '{split}'; give a manifest or leave --split out"
        )
    return _check(path, rows)


def compare_videos(predictions: SentenceFile, references: SentenceFile) -> Iterator[str]:
    """A fault for videos that only one of the files has."""
    predicted, known = predictions.sentences.keys(), references.sentences.keys()
    if missing := sorted(known - predicted):
        yield (
            f"{predictions.path}: no sentence for {_name(missing)} of {references.path}; "
            "predict all or give only the references that count (--split)"
        )
    if surplus := sorted(predicted - known):
        yield f"{predictions.path}: {_name(surplus)} not in {references.path}; remove what is extra"


def _read_rows(path: Path) -> list[tuple[str, Any]]:
    """(video, sentences) of an object, or of a COCO results list with one sentence a row."""
    # As pairs, since a dict would keep only the last of equal names.
    content = read_json(path, pairs=_Pairs)
    if isinstance(content, _Pairs):
        return content
    if isinstance(content, list) and all(isinstance(row, _Pairs) for row in content):
        return [_read_coco_row(path, dict(row)) for row in content]
    raise CorpusError(
        f'{path}: neither {{"video": ["sentence", ...]}} nor a COCO results list; '
        "see docs/evaluation.md"
    )


class _Pairs(list[tuple[str, Any]]):
    """A JSON object's names and values in order."""


def _read_coco_row(path: Path, row: Mapping[str, Any]) -> tuple[str, Any]:
    if "image_id" not in row or "caption" not in row:
        raise CorpusError(f"{path}: a row of a COCO results list needs 'image_id' and 'caption'")
    return str(row["image_id"]), [row["caption"]]


def _check(path: Path, rows: Iterable[tuple[str, Any]]) -> SentenceFile:
    sentences, faults = {}, []
    for video, given in rows:
        said = [given] if isinstance(given, str) else given
        if not isinstance(said, list) or not said:
            faults.append(f"{path}: '{video}' has no sentences; give one, or a list of them")
        elif wrong := [n for n, text in enumerate(said, start=1) if not _is_sentence(text)]:
            faults.append(f"{path}: sentence {wrong[0]} of '{video}' is empty or not text")
        sentences[video] = said
    counts = Counter(video for video, _ in rows)
    if repeated := sorted(video for video, count in counts.items() if count > 1):
        faults.append(f"{path}: {_name(repeated)} more than once; keep one of each")
    if not sentences:
        faults.append(f"{path}: no videos in it")
    return SentenceFile(path, sentences, faults)


def _choose_split(path: Path, clips: Iterable[ClipRecord], split: str | None) -> SentenceFile:
    chosen = [clip for clip in clips if split in (None, clip.split)]
    if not chosen:
        raise CorpusError(f"{path}: no clip of split '{split}'; name another with --split")
    return _check(path, [(clip.id, list(clip.captions)) for clip in chosen])


def _is_sentence(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _name(videos: Sequence[str]) -> str:
    shown = ", ".join(f"'{video}'" for video in videos[:_NAMED])
    return shown if len(videos) <= _NAMED else f"{shown} and {len(videos) - _NAMED} more"
