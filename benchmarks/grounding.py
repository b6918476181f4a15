"""Do words point at their things? Clips of the test world, learned from captions alone.

A word points right in a frame when the centre of its strongest region lies in
a box of a thing for which the word holds. Beside it stand chance (the share of
regions whose centre does) and a head that was trained on whole frames, then
asked about each region.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress, track
from rich.table import Column, Table

from densevidcap.data.lexicon import Lexicon, build_lexicon
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.lexical.backbones.weights import load_imagenet
from densevidcap.lexical.encoder import EncoderOptions
from densevidcap.lexical.fcn import HeadOptions, LexicalFCN
from densevidcap.lexical.features import FeatureCache, cache_features
from densevidcap.lexical.learning import Paradigm, WordOptions, WordTask
from densevidcap.records import FrameGrid
from densevidcap.testworld import FRAME_RATE, World, WorldClip, write_world
from densevidcap.testworld.words import COLOUR_WORDS, KIND_WORDS, TEXTURE_WORDS
from densevidcap.training import Run, TrainingOptions

WORLD = World(size=320, frames=6)
CLIPS = 300
SAMPLING = Sampling(frames=4)
WINDOWS = ((7, 1), (4, 2), (2, 2))
"""(window, stride) in cells of the 10x10 map: the paper's, ours, and smaller than the things."""
PARADIGMS: dict[Paradigm, str] = {"mimll": "regions (MIMLL)", "mll": "whole frames (MLL)"}
BACKBONE, HEAD = "lite0", HeadOptions(hidden=256, dropout=0.3)
TRAINING = TrainingOptions(epochs=30, learning_rate=2e-3, average=0.95)
SORTS = {
    word: sort
    for sort, words in (("kind", KIND_WORDS), ("colour", COLOUR_WORDS), ("texture", TEXTURE_WORDS))
    for synonyms in words.values()
    for word in synonyms
}
"""What a word is about; all others that hold for things are about motion."""


class Pointing(NamedTuple):
    """A word in a frame."""

    right: float
    chance: float


def run() -> None:
    with TemporaryDirectory() as folder:
        records = list(read_manifest(write_world(folder, range(CLIPS), WORLD)))
        compare(records, Path(folder))


def compare(records: Sequence[ClipRecord], folder: Path) -> None:
    """Print a row for each grid and each way of training."""
    captions = {record.id: record.captions for record in records}
    lexicon = build_lexicon(captions, lambda sentences: [["X"] * len(s) for s in sentences])
    cells = read_cells(lexicon, records, folder)
    trained = [record for record in records if record.split == "train"]
    unseen = [WORLD.clip(number) for number, r in enumerate(records) if r.split != "train"]
    table = Table(
        "window/stride",
        "trained on",
        *(Column(name, justify="right") for name in ("kind", "colour", "texture", "motion", "all")),
        caption=f"% of words that point right in the frames of {len(unseen)} unseen clips",
    )
    for window, stride in WINDOWS:
        model = make_model(lexicon, window, stride)
        pooled = pool(cells, captions, model, folder / f"{window}-{stride}")
        for paradigm, label in PARADIGMS.items():
            model = make_model(lexicon, window, stride)
            task = WordTask(model, pooled, trained, [], WordOptions(paradigm, batch=16, frames=0))
            Run(task, TRAINING, folder / f"{window}-{stride}-{paradigm}").train()
            found = point_all(model, pooled, unseen)
            table.add_row(f"{window}/{stride}", label, *average(found, "right"))
        table.add_row(f"{window}/{stride}", "chance", *average(found, "chance"), end_section=True)
    Console().print(table)


def make_model(lexicon: Lexicon, window: int, stride: int) -> LexicalFCN:
    torch.manual_seed(0)
    model = LexicalFCN(lexicon, EncoderOptions(BACKBONE, WORLD.size, window, stride), HEAD)
    load_imagenet(model.encoder.backbone, BACKBONE)
    return model.eval()


def read_cells(lexicon: Lexicon, records: Sequence[ClipRecord], folder: Path) -> FeatureCache:
    """The backbone's last map of every frame, computed once for all windows."""
    encoder = make_model(lexicon, *WINDOWS[0]).encoder
    end = len(encoder.backbone.stages())
    with Progress(console=Console(stderr=True), transient=True) as progress:
        reading = progress.add_task("Reading clips", total=len(records))
        cache, failures = cache_features(
            records, encoder, folder, SAMPLING, end, lambda: progress.advance(reading)
        )
    assert not failures
    return cache


@torch.inference_mode()
def pool(
    cells: FeatureCache, clips: Iterable[str], model: LexicalFCN, folder: Path
) -> FeatureCache:
    """Region features of a model's windows from the cells under them."""
    encoder, side = model.encoder, model.encoder.options.grid.map_rows
    pooled = FeatureCache(folder)
    end = len(encoder.backbone.stages())
    for clip in clips:
        features = torch.from_numpy(cells.features(clip)).transpose(1, 2)
        regions = encoder.finish(features.reshape(len(features), -1, side, side), end)
        pooled.append(clip, cells.times(clip), regions.numpy())
    return pooled


def point_all(
    model: LexicalFCN, cache: FeatureCache, clips: Sequence[WorldClip]
) -> dict[str, list[Pointing]]:
    """Of every frame and word that holds there, by the sort of word."""
    found: defaultdict[str, list[Pointing]] = defaultdict(list)
    for clip in track(clips, "Pointing", console=Console(stderr=True), transient=True):
        seen = model.describe(cache.features(clip.id), cache.times(clip.id))
        for word in {word for thing in clip.things for word in thing.words}:
            if word in model.lexicon.index:
                pointings = point(seen, clip, word, model.lexicon.index[word])
                found[SORTS.get(word, "motion")] += pointings
                found["all"] += pointings
    return found


def point(seen: FrameGrid, clip: WorldClip, word: str, place: int) -> list[Pointing]:
    """Where a word points in each frame of a clip."""
    pointings = []
    centres = [seen.grid.centre(region) for region in range(len(seen.grid))]
    for time, responses in zip(seen.times, seen.probabilities[:, :, place], strict=True):
        boxes = clip.boxes(word, round(time * FRAME_RATE))
        inside = [any(box.contains(*centre) for box in boxes) for centre in centres]
        pointings.append(Pointing(inside[int(responses.argmax())], float(np.mean(inside))))
    return pointings


def average(found: dict[str, list[Pointing]], figure: str) -> list[str]:
    """Percentages in the order of the table's columns."""
    sorts = ("kind", "colour", "texture", "motion", "all")
    return [f"{100 * np.mean([getattr(p, figure) for p in found[sort]]):.1f}" for sort in sorts]
