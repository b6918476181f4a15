"""A config that trains a whole model in seconds, and a corpus for it."""

from __future__ import annotations

import csv
from pathlib import Path

from densevidcap.data.manifest import read_manifest
from densevidcap.examples import World, write_world

CONFIG = """
[frames]
most = 2
[eyes]
backbone = "lite0"
size = 96
window = 2
[lexicon]
min_count = 2
[words]
hidden = 16
[regions]
k = 3
[streams]
lexicon_size = 20
[captioner]
hidden = 16
embedding = 8
[evaluator]
width = 8
hidden = 16
embedding = 8
[training.sentences]
min_count = 1
epochs = 2
average = 0.9
checkpoint_seconds = 0
[training.evaluator]
min_count = 1
epochs = 2
"""
ROUND = """
[[training.words]]
head = "kept"
epochs = 2
average = 0.9
checkpoint_seconds = 0
"""


def write_config(path: Path, rounds: int = 1) -> Path:
    path.write_text(CONFIG + rounds * ROUND)
    return path


def write_table(folder: Path, clips: int = 6, categories: bool = False) -> Path:
    """A CSV of a caption a row, without splits, beside its clips; with `categories` if asked."""
    manifest = write_world(folder, range(clips), World(size=96, frames=4))
    table = folder / "mine.csv"
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["video", "caption", *(["category"] if categories else [])])
        for clip in read_manifest(manifest):
            of_clip = [str(clip.category)] if categories else []
            rows.writerows([Path(str(clip.source)).name, text, *of_clip] for text in clip.captions)
    return table
