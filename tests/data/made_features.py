"""A corpus without pictures: features that tell which thing does what, and sentences of it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Literal

import h5py
import numpy as np

from densevidcap.types import FloatArray

THINGS = ("dog", "cat", "horse", "car")
ACTIONS = ("running", "jumping", "sleeping")
FRAMES, WIDTH = 5, 12

Kind = Literal["npy", "h5"]


def make_features(number: int, regions: tuple[int, ...] = (), frames: int = FRAMES) -> FloatArray:
    """(T, *regions, D): in one region of each frame what the clip shows, and noise in all."""
    random = np.random.default_rng(number)
    features = random.normal(0, 0.05, (frames, *regions, WIDTH)).astype(np.float32)
    shown = features.reshape(frames, -1, WIDTH)[:, number % max(1, int(np.prod(regions)))]
    shown[:, number % len(THINGS)] += 1
    shown[:, len(THINGS) + number // len(THINGS) % len(ACTIONS)] += 1
    return features


def list_captions(number: int) -> list[str]:
    thing, action = THINGS[number % len(THINGS)], ACTIONS[number // len(THINGS) % len(ACTIONS)]
    return [f"a {thing} is {action}", f"the {thing} is {action}", f"a {thing} {action}"]


def write_features(folder: Path, kind: Kind, arrays: dict[str, FloatArray]) -> Path:
    """A folder of .npy files, or an HDF5 file: what `prepare --features` takes."""
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "npy":
        for clip, array in arrays.items():
            np.save(folder / f"{clip}.npy", array)
        return folder
    with h5py.File(folder / "features.h5", "w") as file:
        for clip, array in arrays.items():
            file[clip] = array
    return folder / "features.h5"


def write_table(
    folder: Path, kind: Kind = "npy", clips: int = 48, regions: tuple[int, ...] = ()
) -> tuple[Path, Path]:
    """A CSV with a caption a row that names clips by their ids, and their features."""
    names = [f"clip{number}" for number in range(clips)]
    arrays = {name: make_features(number, regions) for number, name in enumerate(names)}
    place, table = write_features(folder / "features", kind, arrays), folder / "captions.csv"
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "caption", "split"])
        for number, name in enumerate(names):
            # Of four clips that show the same, at least one is for training.
            split = ("validate", "test", *["train"] * 4)[(number + number // 12) % 6]
            rows.writerows([name, caption, split] for caption in list_captions(number))
    return table, place


CONFIG = """
extends = "features"
[lexicon]
min_count = 2
[words]
hidden = 0
dropout = 0.0
[regions]
k = 3
[streams]
lexicon_size = 20
[captioner]
kind = "mean-pooling"
hidden = 24
embedding = 12
dropout = 0.0
[decoding]
samples = 2
mentions = 0
[selection]
telling = 0
coverage = 0.0
[evaluator]
width = 8
hidden = 16
embedding = 8
[training.sentences]
min_count = 1
epochs = 15
batch = 8
learning_rate = 2e-2
average = 0.9
label_smoothing = 0.0
[training.evaluator]
min_count = 1
epochs = 2
[[training.words]]
batch = 4
epochs = 8
learning_rate = 5e-2
average = 0.5
"""
