"""Whether a sentence comes from its own region-sequence, on the held-out clips of a manifest.

    python scripts/measure_ties.py MANIFEST [--model FOLDER] [--cache DIR] [--step N]

A chosen sentence's own sequence is compared with the clip's others: under how many is it likelier?
Since sentences are tied to sequences by just these likelihoods, that alone proves little: random
likelihoods would be tied well too. So sentences are also found, chosen and tied from every second
frame of a clip, and their likelihoods compared in the other frames, which had no say in the choice.

Last, what the most informative sequence's sentence by beams is worth when the regions of another
clip take the place of the clip's own, as far as they differ from their frame's mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import torch
from rich.console import Console
from rich.progress import track

from densevidcap.config import ModelConfig, SelectionConfig
from densevidcap.data.manifest import read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.decoding.select import Choice, choose, find_special
from densevidcap.metrics.captions import CaptionScorer
from densevidcap.metrics.dense import PAPER_METRICS
from densevidcap.models.views import ClipView, view_clip
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.pipeline.generator import CaptionGenerator
from densevidcap.regions import generate_sequences
from densevidcap.regions.objectives import IndexArray
from densevidcap.train.feature_cache import cache_features
from densevidcap.train.stage import HELD_OUT
from densevidcap.types import Candidates, FloatArray, FrameGrid, Hypothesis, RegionSequence

LEAST_FRAMES = 4
"""Of a clip whose frames are halved."""


def tie(found: Candidates, affinities: FloatArray) -> list[Choice]:
    return choose(replace(found, affinities=affinities), SelectionConfig(k=10))


def share_first(choices: Iterable[Choice], likelihoods: FloatArray) -> float:
    """How many sentences are likeliest under their own sequence."""
    return float(np.mean([likelihoods[c.candidate].argmax() == c.sequence for c in choices]))


def view_frames(
    seen: FrameGrid, sequences: list[RegionSequence], frames: IndexArray, words: int
) -> ClipView:
    """The clip as if only these frames of it were known."""
    part = FrameGrid(
        seen.grid, seen.times[frames], seen.probabilities[frames], seen.features[frames]
    )
    shortened = [sequence.select(frames.tolist()) for sequence in sequences]
    return view_clip(part, shortened, words)


@click.command()
@click.argument("manifest", type=click.Path(path_type=Path))
@click.option("--model", type=click.Path(path_type=Path))
@click.option("--cache", type=click.Path(path_type=Path), default=Path("cache"))
@click.option("--step", default=1, help="Only every so many clips.")
@click.option("--threads", default=0)
def main(manifest: Path, model: Path | None, cache: Path, step: int, threads: int) -> None:
    if threads:
        torch.set_num_threads(threads)
    captioner = DenseCaptioner.load(model)
    config = captioner.config
    generator, fcn = captioner.generator, captioner.words
    words = generator.captioner.widths.clip_level.get("clip_words", 1)
    clips = [r for r in read_manifest(manifest) if r.captions and r.split in ("train", *HELD_OUT)]
    features, _ = cache_features(clips, fcn.encoder, cache, Sampling.of(config.frames))
    held_out = [record for record in clips if record.split in HELD_OUT][::step]
    random = np.random.default_rng(0)
    beams, own, shuffled, other_half, beams_half = [], [], [], [], []
    views: dict[str, ClipView] = {}
    for record in track(held_out, "Describing", console=Console(stderr=True)):
        seen = fcn.describe(features.features(record.id), features.times(record.id))
        sequences = generate_sequences(seen, config.regions)
        count = len(seen.times)
        whole, even, odd = (
            view_frames(seen, sequences, np.arange(count)[part], words)
            for part in (slice(None), slice(0, None, 2), slice(1, None, 2))
        )
        views[record.id] = whole
        found = captioner.find_candidates(whole, config)
        own.append(share_first(tie(found, found.affinities), found.likelihoods))
        mixed = random.permuted(found.likelihoods, axis=1)
        special = np.asarray(find_special(mixed), np.float32)
        shuffled.append(share_first(tie(found, special), mixed))
        best = find_best(generator, whole, config)
        beams.append(share_best(generator.compare(whole, best, config)))
        if count >= LEAST_FRAMES:
            found = captioner.find_candidates(even, config)
            vocabulary = generator.captioner.vocabulary
            ids = [vocabulary.encode(sentence)[1:-1] for sentence in found.sentences]
            again = generator.compare(odd, ids, config)
            other_half.append(share_first(tie(found, found.affinities), again))
            best = find_best(generator, even, config)
            beams_half.append(share_best(generator.compare(odd, best, config)))
    chance = 100 / config.regions.k
    print(f"sentences that are likeliest under their own sequence, of {len(own)} clips, in percent")
    print(f"(chance {chance:.0f}; in brackets, tied in every second frame, measured in the others,")
    print(f" of {len(other_half)} clips with at least {LEAST_FRAMES} frames)")
    for name, shares, halves in (
        ("each sequence's best by beams", beams, beams_half),
        ("chosen with their sequences", own, other_half),
    ):
        print(f"{name}: {100 * np.mean(shares):.1f} ({100 * np.mean(halves):.1f})")
    print(f"chosen, with likelihoods shuffled: {100 * np.mean(shuffled):.1f}")
    first, swapped = {}, {}
    for clip, other in zip(views, [*views][1:] + [*views][:1], strict=True):
        first[clip] = say_first(generator, views[clip], config)
        swapped[clip] = say_first(generator, swap_regions(views[clip], views[other]), config)
    with CaptionScorer({record.id: record.captions for record in held_out}) as scorer:
        for name, said in (("first sequence", first), ("other clip's regions", swapped)):
            overall = scorer.score(said).overall
            print(name, ", ".join(f"{m} {100 * overall[m]:.1f}" for m in PAPER_METRICS))


def say_first(generator: CaptionGenerator, view: ClipView, config: ModelConfig) -> str:
    found = generator.propose(view, config.override({"decoding.samples": 0}), sequences=[0])
    return generator.say(max(found, key=lambda one: one.score).ids)


def swap_regions(view: ClipView, other: ClipView) -> ClipView:
    """The clip's own frames and words, but another clip's regions around their mean."""
    frames = np.arange(len(view.features)) % len(other.features)
    mean = np.asarray(view.features, np.float32).mean(axis=1, keepdims=True)
    strange = np.asarray(other.features[frames], np.float32)
    return replace(view, features=strange - strange.mean(axis=1, keepdims=True) + mean)


def find_best(
    generator: CaptionGenerator, view: ClipView, config: ModelConfig
) -> list[tuple[int, ...]]:
    """Each sequence's best sentence."""
    best: dict[int, Hypothesis] = {}
    for one in generator.propose(view, config.override({"decoding.samples": 0})):
        best.setdefault(one.sequence, one)
    return [best[sequence].ids for sequence in range(len(view.paths))]


def share_best(likelihoods: FloatArray) -> float:
    """Of sentences in the order of their sequences."""
    return share_first([Choice(each, each) for each in range(len(likelihoods))], likelihoods)


if __name__ == "__main__":
    main()
