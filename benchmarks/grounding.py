"""Do words point at their things? Clips of the test world, learned from captions alone.

A word points right in a frame when the centre of its strongest region lies in
a box of a thing for which the word holds. Three figures tell what that is worth:

chance        the share of regions whose centre lies there
absent words  how often a word of the same sort that the clip lacks points there: a
              model that finds things but not the word's thing beats chance, not this
ceiling       how often any region's centre lies there: coarse grids miss things at the border

Beside regions stands a head that was trained on whole frames, then asked about each region.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress, track
from rich.table import Column, Table

from densevidcap.config import EyesConfig, WordsConfig, WordTrainingConfig
from densevidcap.data.lexicon import Lexicon, build_lexicon
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.examples import FRAME_RATE, World, WorldClip, write_world
from densevidcap.examples.words import (
    COLOUR_WORDS,
    FUNCTION_WORDS,
    KIND_WORDS,
    MOTION_PHRASES,
    TEXTURE_WORDS,
)
from densevidcap.model_folder import BUNDLED
from densevidcap.models.backbones.weights import load_imagenet
from densevidcap.models.word_detector import LexicalFCN, RegionEncoder
from densevidcap.train.feature_cache import FeatureCache, cache_features
from densevidcap.train.loop import TrainingLoop
from densevidcap.train.words import WordTask
from densevidcap.types import FrameGrid

WORLD = World(size=320, frames=6)
CLIPS = 300
SAMPLING = Sampling(frames=4)
EYES = {
    "lite0": (320, ((7, 1), (4, 2), (2, 2))),
    "dinov2-s14": (224, ((4, 4), (4, 2), (2, 1))),
}
"""Size of a frame, and (window, stride) in cells of the map: of a 10x10 map the paper's, that of
version 0.1, and smaller than the things; of a 16x16 map ours, overlapping ones, and finer."""
PARADIGMS = {"mimll": "regions (MIMLL)", "mll": "frames (MLL)"}
HEAD = WordsConfig(hidden=256, dropout=0.3)
TRAINING = WordTrainingConfig(
    batch=16, frames_per_clip=0, epochs=30, learning_rate=2e-3, average=0.95
)
SORTS = {
    "kind": {word for words in KIND_WORDS.values() for word in words},
    "colour": {word for words in COLOUR_WORDS.values() for word in words},
    "texture": {word for words in TEXTURE_WORDS.values() for word in words},
    "motion": {
        word
        for phrases in MOTION_PHRASES.values()
        for word in " ".join(phrases).split()
        if word not in FUNCTION_WORDS
    },
}
"""What words are about. Motion cannot be seen in a single frame: it is here as a check."""


class Pointing(NamedTuple):
    """A word in a frame."""

    right: bool
    absent: bool
    chance: float
    ceiling: bool


def run() -> None:
    with TemporaryDirectory() as folder:
        records = list(read_manifest(write_world(folder, range(CLIPS), WORLD)))
        compare(records, Path(folder))


def compare(records: Sequence[ClipRecord], folder: Path) -> None:
    """Print a row for each grid and each way of training."""
    captions = {record.id: record.captions for record in records}
    lexicon = build_lexicon(captions, lambda sentences: [["X"] * len(s) for s in sentences])
    trained = [record for record in records if record.split == "train"]
    unseen = [WORLD.clip(number) for number, r in enumerate(records) if r.split != "train"]
    table = Table(
        "eyes, window/stride",
        "trained on",
        *(Column(name, justify="right") for name in (*SORTS, "all")),
        caption=f"% of words that point right in the frames of {len(unseen)} unseen clips",
    )
    for backbone, (size, windows) in EYES.items():
        all_eyes = [EyesConfig(backbone, size, *window) for window in windows]
        cells = read_cells(make_model(lexicon, all_eyes[0]).encoder, records, folder)
        for eyes in all_eyes:
            name = f"{backbone} {eyes.window}/{eyes.stride}"
            work = folder / name.replace("/", "-")
            pooled = pool(cells, captions, make_model(lexicon, eyes), work)
            for paradigm, label in PARADIGMS.items():
                model = make_model(lexicon, eyes)
                options = replace(TRAINING, paradigm=paradigm)  # type: ignore[arg-type]
                task = WordTask(model, pooled, trained, [], options)
                TrainingLoop(task, options, work / paradigm).train()
                found = point_all(model, pooled, unseen)
                table.add_row(name, label, *average(found, "right"))
                table.add_row("", "  absent words", *average(found, "absent"), style="dim")
            table.add_row("", "chance", *average(found, "chance"))
            table.add_row("", "ceiling", *average(found, "ceiling"), end_section=True)
    Console().print(table)


def make_model(lexicon: Lexicon, eyes: EyesConfig) -> LexicalFCN:
    """With ImageNet's weights, or those of the bundled model."""
    torch.manual_seed(0)
    model = LexicalFCN(lexicon, eyes, HEAD)
    bundled = LexicalFCN.load(BUNDLED / "words").encoder
    if bundled.config.backbone == eyes.backbone:
        model.encoder.backbone.load_state_dict(bundled.backbone.state_dict())
    else:
        load_imagenet(model.encoder.backbone)
    return model.eval()


def read_cells(encoder: RegionEncoder, records: Sequence[ClipRecord], folder: Path) -> FeatureCache:
    """The backbone's last map of every frame, computed once for all windows."""
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
    encoder = model.encoder
    pooled = FeatureCache(folder)
    end = len(encoder.backbone.stages())
    with pooled.filling():
        for clip in clips:
            x = encoder.backbone.from_cells(torch.from_numpy(cells.features(clip)))
            pooled.append(clip, cells.times(clip), encoder.observe(x, end)[0].numpy())
    return pooled


def point_all(
    model: LexicalFCN, cache: FeatureCache, clips: Sequence[WorldClip]
) -> dict[str, list[Pointing]]:
    """Of every frame and word that holds there, by the sort of word."""
    places, random = model.lexicon.index, np.random.default_rng(0)
    found: defaultdict[str, list[Pointing]] = defaultdict(list)
    for clip in track(clips, "Pointing", console=Console(stderr=True), transient=True):
        seen = model.describe(cache.features(clip.id), cache.times(clip.id))
        present = {word for thing in clip.things for word in thing.words}
        for sort, words in SORTS.items():
            absent = sorted((words - present) & places.keys())
            for word in sorted(words & present & places.keys()):
                other = absent[random.integers(len(absent))]
                found[sort] += point(seen, clip, word, (places[word], places[other]))
    found["all"] = [pointing for sort in SORTS for pointing in found[sort]]
    return found


def point(seen: FrameGrid, clip: WorldClip, word: str, places: tuple[int, int]) -> list[Pointing]:
    """Where a word and an absent one, by their places in the lexicon, point in each frame."""
    pointings = []
    centres = [seen.grid.centre(region) for region in range(len(seen.grid))]
    for time, responses in zip(seen.times, seen.probabilities[:, :, places], strict=True):
        boxes = clip.boxes(word, round(time * FRAME_RATE))
        inside = [any(box.contains(*centre) for box in boxes) for centre in centres]
        right, absent = (inside[region] for region in responses.argmax(axis=0))
        pointings.append(Pointing(right, absent, float(np.mean(inside)), any(inside)))
    return pointings


def average(found: dict[str, list[Pointing]], figure: str) -> list[str]:
    """Percentages in the order of the table's columns."""
    return [
        f"{100 * np.mean([getattr(pointing, figure) for pointing in found[sort]]):.1f}"
        for sort in (*SORTS, "all")
    ]
