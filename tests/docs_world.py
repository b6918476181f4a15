"""What the docs' commands name: a small model in place of the bundled one, generated clips, tables
and libraries under the names that the pages use."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.export.made_captions import GRID
from tests.library.made_library import add, make_words
from tests.models.small_world import write_corpus
from tests.studio.small_model import write_clip, write_model

from densevidcap.data.manifest import read_manifest, write_manifest
from densevidcap.library.store import Library
from densevidcap.model_folder import read_model_config, write_model_card

CLIPS = (
    "clip.mp4",
    "a.mp4",
    "b.mp4",
    "clips/one.mp4",
    "clips/two.mp4",
    "clips/world-0-00003.mp4",
    "dance.mp4",
    "holiday/dunes.mp4",
    "holiday/raw/dunes.mp4",
    "my-folder/one.mp4",
    "samples/carphone.mp4",
    "samples/cat.mp4",
    "talk.mp4",
    "tape.mkv",
)
MANIFESTS = ("corpus.jsonl", "msrvtt.jsonl", "val.jsonl", "clips.jsonl", "captions.jsonl")
SENTENCES = ("P.json", "Q.json", "R.json")
"""Of the clips of split `validate`."""
TABLES = ("mine.csv", "my-clips.csv")


def write_world(folder: Path) -> None:
    """Everything below one folder; what the model is called is `my-model`."""
    model = write_model(folder / "my-model")
    # As little as shows that a command works.
    few = {"frames.most": 4, "scenes.frames": 2, "decoding.samples": 4}
    write_model_card(model, read_model_config(model).override(few), licence="Apache-2.0")
    shutil.copytree(model, folder / "paper-model")
    write_clip(folder / "film.mp4", 62)
    first = write_clip(folder / CLIPS[0], 1)
    for name in CLIPS[1:]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".mp4"):
            shutil.copyfile(first, folder / name)
        else:
            write_clip(folder / name, 1)
    (folder / "tapes" / "1999").mkdir(parents=True)
    write_clip(folder / "tapes" / "1999" / "party.avi", 1, "mpeg4")
    (folder / "list.txt").write_text("a.mp4\n")
    _write_tables(folder)
    _write_library(folder / "holiday.library")


def _write_tables(folder: Path) -> None:
    clips = read_manifest(write_corpus(folder / "world", 6))
    splits = ("train", "validate", "test")
    records = [replace(clip, split=splits[n % 3]) for n, clip in enumerate(clips)]
    for name in MANIFESTS:
        write_manifest(folder / name, records)
    said = {record.id: list(record.captions) for record in records}
    (folder / "mine.json").write_text(json.dumps(said))
    held_out = {record.id: said[record.id] for record in records if record.split == "validate"}
    for name in SENTENCES:
        (folder / name).write_text(json.dumps(held_out))
    for name in TABLES:
        with (folder / name).open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["video", "caption"])
            rows.writerows(["clip.mp4", caption] for caption in records[0].captions)


def _write_library(folder: Path) -> None:
    library = Library.make(folder)
    looks = np.random.default_rng(0).random((2, len(GRID), 3)).astype(np.float32)
    shown = make_words(
        {"dog": 0.5, "beach": 0.5}, {"dog": (1, 2), "beach": (0, 1)}, vectors=looks[::-1]
    )
    add(library, "beach.mp4", "A cat runs on the beach.", "A man is talking.", words=shown)
    add(library, "kitchen.mp4", "Somebody is cooking.", words=make_words({"cooking": 0.9}))
    add(library, "night.mp4", "Fireworks light the sky.")
    match = write_clip(folder.parent / "match.mp4", 4)
    add(library, "match.mp4", "A man scores a goal.", file=match)
    late = make_words({"man": 0.9}, span=(3600.0, 3900.0), vectors=looks)
    add(library, "film.mp4", "A man is talking.", words=late)
