"""Do sentences name the thing in their own region-sequence? Clips of the test world, where we know.

python scripts/world_sentences.py

A Lexical-FCN and captioners learn from clips and captions alone. In clips of another world, the
best sentence of each region-sequence that follows a thing is then looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click
import numpy as np
from rich.console import Console
from rich.table import Column, Table

from densevidcap.config import (
    AssociationConfig,
    CaptionerConfig,
    EyesConfig,
    FramesConfig,
    ModelConfig,
    SentenceTrainingConfig,
    StreamsConfig,
    TrainingConfig,
    WordsConfig,
    WordTrainingConfig,
)
from densevidcap.data.lexicon import build_lexicon
from densevidcap.data.manifest import read_manifest
from densevidcap.data.text import tokenise
from densevidcap.examples import World, WorldClip, write_world
from densevidcap.examples.words import (
    COLOUR_WORDS,
    FUNCTION_WORDS,
    KIND_WORDS,
    MOTION_PHRASES,
    TEXTURE_WORDS,
)
from densevidcap.metrics.region_metrics import measure_following
from densevidcap.models.views import ClipView, view_clip
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.pipeline.generator import CaptionGenerator
from densevidcap.progress import Silent
from densevidcap.regions import generate_sequences
from densevidcap.train.sentences import SentenceStage
from densevidcap.train.words import WordStage

SIZE, FRAMES = 320, 6
CONFIG = ModelConfig(
    frames=FramesConfig(most=FRAMES),
    eyes=EyesConfig("lite0", SIZE, window=4, stride=2),
    words=WordsConfig(hidden=256, dropout=0.3),
    captioner=CaptionerConfig(hidden=128, embedding=64, dropout=0.3, most_frames=FRAMES),
    training=TrainingConfig(
        words=(
            WordTrainingConfig(
                batch=16, frames_per_clip=0, epochs=30, learning_rate=2e-3, average=0.95
            ),
        ),
        sentences=SentenceTrainingConfig(epochs=40, learning_rate=3e-3, average=0.99),
    ),
)
PLAIN = StreamsConfig(("regions",), ())
DROPPED = ("frames", "clip", "clip_words", "category")
WAYS = {
    "the paper's: regions, winner takes all": replace(
        CONFIG, streams=PLAIN, association=AssociationConfig("winner", unsupported="first")
    ),
    "the same, sentences spread": replace(CONFIG, streams=PLAIN),
    "ours: centred, anchored, spread": replace(
        CONFIG, streams=StreamsConfig(dropout=dict.fromkeys(DROPPED, 0.3))
    ),
}
"""What a captioner sees, and how sentences are given to the sequences it learns from."""


class Tested(NamedTuple):
    """A clip as captioners see it, and which things each of its sequences follows."""

    view: ClipView
    kinds: Sequence[str]
    """Of all things in the clip."""
    followed: Sequence[frozenset[str]]
    """Kinds of the things that a sequence holds the centre of in at least half of its frames."""


class Naming(NamedTuple):
    """Of one sentence."""

    own: float
    """Whether it names a thing that its own sequence follows."""
    chance: float
    """The share of the clip's sequences that follow a thing it names."""
    clip: float
    """Whether it names a thing of the clip at all."""


def tag(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """Parts of speech: the test world's words need no tagger."""
    moving = {word for each in MOTION_PHRASES.values() for word in " ".join(each).split()}
    parts = dict.fromkeys(moving - FUNCTION_WORDS, "VERB")
    for table, part in ((KIND_WORDS, "NOUN"), (COLOUR_WORDS, "ADJ"), (TEXTURE_WORDS, "ADJ")):
        parts |= {word: part for words in table.values() for word in words}
    return [[parts.get(word, "X") for word in sentence] for sentence in sentences]


def write_lexicon(manifest: Path) -> Path:
    captions = {record.id: record.captions for record in read_manifest(manifest)}
    path = manifest.with_name("lexicon.json")
    build_lexicon(captions, tag).save(path)
    return path


def fit_words(manifest: Path, out: Path) -> LexicalFCN:
    stage = WordStage(out, CONFIG, manifest, write_lexicon(manifest), out / "cache")
    stage.run(Silent())
    assert not stage.left_out
    return LexicalFCN.load(out)


def fit_sentences(manifest: Path, words: Path, config: ModelConfig, out: Path) -> CaptionGenerator:
    stage = SentenceStage(out, config, manifest, words, words / "cache")
    stage.run(Silent())
    assert not stage.left_out
    return CaptionGenerator.load(out)


def look_at(clip: WorldClip, model: LexicalFCN) -> Tested:
    seen = model.read(clip.frames)
    sequences = generate_sequences(seen, CONFIG.regions)
    followed = [
        frozenset(
            thing.kind for thing in clip.things if measure_following(sequence, thing.boxes) >= 0.5
        )
        for sequence in sequences
    ]
    view = view_clip(seen, sequences, CONFIG.streams.lexicon_size)
    return Tested(view, [thing.kind for thing in clip.things], followed)


def name_things(describer: CaptionGenerator, clip: Tested) -> list[Naming]:
    """For the best sentence of each sequence that follows a thing."""
    following = [place for place, kinds in enumerate(clip.followed) if kinds]
    best: dict[int, str] = {}
    for one in describer.propose(clip.view, CONFIG.override({"decoding.samples": 0})):
        if one.sequence in following:
            best.setdefault(one.sequence, describer.say(one.ids))
    namings = []
    for place, sentence in best.items():
        said = set(tokenise(sentence))
        named = {kind for kind, words in KIND_WORDS.items() if said & set(words)}
        elsewhere = np.mean([bool(named & clip.followed[other]) for other in following])
        own = bool(named & clip.followed[place])
        namings.append(Naming(own, float(elsewhere), bool(named & set(clip.kinds))))
    return namings


@click.command()
@click.option("--clips", default=300, show_default=True, help="Of the world to learn from.")
@click.option("--test", default=50, show_default=True, help="Clips of another world to describe.")
def main(clips: int, test: int) -> None:
    console = Console()
    table = Table(
        "captioner",
        *(Column(name, justify="right") for name in ("own %", "chance %", "of the clip %", "n")),
        caption="sentences that name a thing: in their own region-sequence, in any of the clip's"
        " that follow one, anywhere in the clip",
    )
    with TemporaryDirectory() as name, console.status("Drawing") as status:
        folder = Path(name)
        manifest = write_world(folder, range(clips), World(size=SIZE, frames=FRAMES))
        status.update("Learning words")
        words = fit_words(manifest, folder / "words")
        status.update("Looking at the other world")
        other = World(seed=1, size=SIZE, frames=FRAMES)
        tested = [look_at(other.clip(number), words) for number in range(test)]
        for place, (label, way) in enumerate(WAYS.items()):
            status.update(f"Learning sentences: {label}")
            describer = fit_sentences(manifest, folder / "words", way, folder / f"way-{place}")
            namings = [naming for clip in tested for naming in name_things(describer, clip)]
            shares = 100 * np.mean(namings, axis=0)
            table.add_row(label, *(f"{share:.1f}" for share in shares), str(len(namings)))
    console.print(table)


if __name__ == "__main__":
    main()
