"""A recipe that trains a whole model in seconds, and a corpus for it."""

from __future__ import annotations

import csv
from pathlib import Path

from densevidcap.data.manifest import read_manifest
from densevidcap.examples import World, write_world

LEXICON = "[lexicon]\nmin_count = 2\n"
WORDS = """
[start]
head = "kept"
[sampling]
frames = 2
[encoder]
backbone = "lite0"
size = 96
window = 2
[head]
hidden = 16
[training]
epochs = 2
average = 0.9
checkpoint_seconds = 0
"""
SENTENCES = """
[sampling]
frames = 2
[captioner]
hidden = 16
embedding = 8
[library]
words = 20
k = 3
[sentences]
min_count = 1
[training]
epochs = 2
average = 0.9
checkpoint_seconds = 0
"""
EVALUATOR = """
[sampling]
frames = 2
[library]
words = 20
k = 3
[evaluator]
width = 8
hidden = 16
embedding = 8
[lessons]
min_count = 1
[training]
epochs = 2
"""


def write_recipe(folder: Path) -> Path:
    folder.mkdir()
    files = {
        "lexicon": LEXICON,
        "words": WORDS,
        "sentences": SENTENCES,
        "evaluator": EVALUATOR,
    }
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text)
    return folder


def write_table(folder: Path, clips: int = 6) -> Path:
    """A CSV of a caption a row, without splits, beside its clips."""
    manifest = write_world(folder, range(clips), World(size=96, frames=4))
    table = folder / "mine.csv"
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["video", "caption"])
        for clip in read_manifest(manifest):
            rows.writerows([Path(str(clip.source)).name, text] for text in clip.captions)
    return table
