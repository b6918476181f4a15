"""Does winner-takes-all give sentences to region-sequences on the right thing?

python scripts/region_grounding.py --model FOLDER     a Lexical-FCN trained on the test world
python scripts/region_grounding.py                    its words read off the truth instead
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

from densevidcap.config import AssociationConfig, RegionsConfig
from densevidcap.data.lexicon import Lexicon, build_lexicon
from densevidcap.examples import World, WorldClip
from densevidcap.metrics.region_metrics import measure_following
from densevidcap.regions import (
    CaptionedClip,
    associate,
    generate_sequences,
    learn_terms,
    match,
    pool_words,
)
from densevidcap.types import Box, FrameGrid, Grid, RegionSequence

PRINTED = ("informativeness", "divergence", "coherence")
"""The paper's terms."""
THRESHOLD = RegionsConfig().threshold
WINNER = AssociationConfig("winner", unsupported="first")

Generator = Callable[[FrameGrid], list[RegionSequence]]


@dataclass(frozen=True)
class GroundedClip:
    """A clip whose sentences have true boxes."""

    captioned: CaptionedClip
    boxes: Sequence[Sequence[Box]]
    """Of each sentence, in each frame."""


def print_grounding(
    test: Sequence[GroundedClip], training: Sequence[CaptionedClip], config: RegionsConfig
) -> None:
    """A row for each way to make sequences.

    A sequence is on a thing when, in at least half of the frames, its region holds its centre.
    """
    equal = replace(config, terms=dict.fromkeys(config.terms, 1.0))
    learned, _ = learn_terms(training, equal)
    fitted = ", ".join(f"{weight:.2f}" for weight in learned.terms.values())
    printed = dict.fromkeys(PRINTED, 1.0)
    choices = {
        "default": config,
        "w = 1": equal,
        "w = 1, terms as printed": replace(config, terms=printed, scaling="paper"),
        f"w = {fitted} (learned)": learned,
        "default, against all": replace(
            config, terms=dict(zip(PRINTED, config.terms.values(), strict=True))
        ),
        "default, best of all starts": replace(config, search="every-start"),
    }
    rng = np.random.default_rng(0)
    makers: dict[str, Generator] = {"random": lambda clip: walk_randomly(clip, config.k, rng)}
    for name, choice in choices.items():
        makers[name] = partial(generate_sequences, config=choice)
    table = Table(
        "region-sequences",
        *(Column(name, justify="right") for name in ("winner %", "chance %", "ceiling %")),
        caption="sentences with the winning, a random and any sequence on their thing",
    )
    for name, generate in makers.items():
        shares = 100 * np.mean([row for clip in test for row in ground(clip, generate)], axis=0)
        table.add_row(name, *(f"{share:.1f}" for share in shares))
    Console().print(table)


def ground(clip: GroundedClip, generate: Generator) -> list[tuple[float, float, float]]:
    """For each sentence: whether the winner is on its thing, what share of all is, whether any."""
    grid = clip.captioned.clip
    sequences = generate(grid)
    matches = match(clip.captioned.sentences, pool_words(sequences, grid), THRESHOLD)
    winners = associate(matches, WINNER)
    rows = []
    for winner, boxes in zip(winners, clip.boxes, strict=True):
        is_on = [measure_following(sequence, boxes) >= 0.5 for sequence in sequences]
        rows.append((float(is_on[winner]), float(np.mean(is_on)), float(any(is_on))))
    return rows


def walk_randomly(clip: FrameGrid, k: int, rng: np.random.Generator) -> list[RegionSequence]:
    """Sequences that go to any neighbour."""
    neighbours = clip.grid.neighbours()
    sequences = []
    for _ in range(k):
        regions = [int(rng.integers(len(clip.grid)))]
        while len(regions) < len(clip.times):
            regions.append(int(rng.choice(np.flatnonzero(neighbours[regions[-1]]))))
        sequences.append(RegionSequence(clip.grid, tuple(regions), tuple(clip.times.tolist())))
    return sequences


def read_truth(clip: WorldClip, lexicon: Lexicon, rng: np.random.Generator) -> FrameGrid:
    """What a Lexical-FCN would see if it were nearly perfect: words where their things are."""
    grid = Grid(10, 10, window=4, stride=2)
    frames = len(clip.frames)
    looks = rng.random((len(clip.things) + 1, 64), np.float32)
    probabilities = rng.random((frames, len(grid), len(lexicon)), np.float32) * 0.1
    features = np.broadcast_to(looks[-1], (frames, len(grid), 64)).copy()
    for thing, look in zip(clip.things, looks, strict=False):
        words = [lexicon.index[word] for word in thing.words if word in lexicon.index]
        for frame, box in enumerate(thing.boxes):
            for region in range(len(grid)):
                seen = _shared(box, grid.box(region)) / box.area
                features[frame, region] += 3 * seen * look
                probabilities[frame, region, words] += 0.8 * seen**2
    return FrameGrid(grid, clip.frames.times, probabilities, features)


def _shared(one: Box, other: Box) -> float:
    iou = one.iou(other)
    return iou * (one.area + other.area) / (1 + iou)


@click.command()
@click.option("--model", type=click.Path(path_type=Path), help="Folder of a Lexical-FCN.")
@click.option("--clips", default=50, show_default=True, help="To test on; as many to learn from.")
@click.option("--seed", default=1, show_default=True, help="Of the world: not that of training.")
@click.option("--k", default=10, show_default=True, help="Region-sequences of a clip.")
def main(model: Path | None, clips: int, seed: int, k: int) -> None:
    if model:
        from densevidcap.models.word_detector import LexicalFCN

        fcn = LexicalFCN.load(model)
        lexicon, size = fcn.lexicon, fcn.encoder.config.size
    else:
        fcn, lexicon, size = None, None, 64
    world = World(seed=seed, size=size)
    world_clips = [world.clip(number) for number in track(range(2 * clips), "drawing")]
    if lexicon is None:
        captions = {clip.id: clip.captions for clip in world_clips}
        lexicon = build_lexicon(captions, lambda sentences: [["X"] * len(s) for s in sentences])
    rng = np.random.default_rng(0)
    grounded = []
    for clip in track(world_clips, "reading"):
        grid = fcn.read(clip.frames) if fcn else read_truth(clip, lexicon, rng)
        words = [np.array(lexicon.find(caption), dtype=np.intp) for caption in clip.captions]
        boxes = [clip.things[sentence.thing].boxes for sentence in clip.sentences]
        grounded.append(GroundedClip(CaptionedClip(grid, words), boxes))
    training = [clip.captioned for clip in grounded[clips:]]
    print_grounding(grounded[:clips], training, RegionsConfig(k=k))


if __name__ == "__main__":
    main()
