"""Whether a sentence comes from its own region-sequence, on the held-out clips of a manifest.

    python scripts/measure_ties.py MANIFEST [--model FOLDER] [--cache DIR] [--step N]

A chosen sentence's own sequence is compared with the clip's others: under how many is it likelier?
Since sentences are tied to sequences by just these likelihoods, that alone proves little: random
likelihoods would be tied well too. So sentences are also found, chosen and tied from every second
frame of a clip, and their likelihoods compared in the other frames, which had no say in the choice.

Last, what the most informative sequence's sentence by beams is worth, by the clip's voice and by
the region's, when the regions of another clip take the place of the clip's own, as far as they
differ from their frame's mean, and when the words of these regions do too.
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
from densevidcap.pipeline.captioner import RAW, DenseCaptioner
from densevidcap.pipeline.generator import CaptionGenerator
from densevidcap.regions import generate_sequences
from densevidcap.regions.objectives import IndexArray
from densevidcap.train.feature_cache import cache_features
from densevidcap.train.stage import HELD_OUT
from densevidcap.types import Candidates, FloatArray, FrameGrid, Hypothesis, RegionSequence

LEAST_FRAMES = 4
"""Of a clip whose frames are halved."""


def tie(found: Candidates, affinities: FloatArray, config: SelectionConfig) -> list[Choice]:
    return choose(replace(found, affinities=affinities), config)


def share_first(choices: Iterable[Choice], likelihoods: FloatArray) -> float:
    """How many sentences are likeliest under their own sequence."""
    return float(np.mean([likelihoods[c.candidate].argmax() == c.sequence for c in choices]))


def view_frames(
    seen: FrameGrid, sequences: list[RegionSequence], frames: IndexArray, words: int
) -> ClipView:
    """The clip as if only these frames of it were known."""
    shortened = [sequence.select(frames.tolist()) for sequence in sequences]
    return view_clip(seen.select(frames.tolist()), shortened, words)


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
    config = captioner.config.override({**RAW, "selection.k": 10})
    is_alone = config.streams.region_voice > 0
    generator, fcn = captioner.generator, captioner.words
    words = generator.captioner.widths.clip_level.get("clip_words", 1)
    clips = [r for r in read_manifest(manifest) if r.captions and r.split in ("train", *HELD_OUT)]
    features, _ = cache_features(
        clips, fcn.encoder, cache, Sampling.of(config.frames), engine=config.engine
    )
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
        own.append(share_first(tie(found, found.affinities, config.selection), found.likelihoods))
        mixed = random.permuted(found.likelihoods, axis=1)
        special = np.asarray(find_special(mixed), np.float32)
        shuffled.append(share_first(tie(found, special, config.selection), mixed))
        best = find_best(generator, whole, config)
        beams.append(share_best(generator.compare(whole, best, config, is_alone)))
        if count >= LEAST_FRAMES:
            found = captioner.find_candidates(even, config)
            vocabulary = generator.captioner.vocabulary
            ids = [vocabulary.encode(sentence)[1:-1] for sentence in found.sentences]
            again = generator.compare(odd, ids, config, is_alone)
            other_half.append(share_first(tie(found, found.affinities, config.selection), again))
            best = find_best(generator, even, config)
            beams_half.append(share_best(generator.compare(odd, best, config, is_alone)))
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
    said: dict[str, dict[str, str]] = {name: {} for name in ROWS}
    for clip, other in zip(views, [*views][1:] + [*views][:1], strict=True):
        strange = swap_regions(views[clip], views[other])
        seen_as = [(voice, view) for voice in (False, True) for view in (views[clip], strange)]
        seen_as.append((True, swap_words(strange, views[other])))
        for name, (voice, view) in zip(ROWS, seen_as, strict=True):
            said[name][clip] = say_first(generator, view, config, voice)
    with CaptionScorer({record.id: record.captions for record in held_out}) as scorer:
        for name, sentences in said.items():
            if sentences == said[ROWS[0]] and name != ROWS[0]:
                continue  # a captioner without a region's voice
            overall = scorer.score(sentences).overall
            print(name, ", ".join(f"{m} {100 * overall[m]:.1f}" for m in PAPER_METRICS))


ROWS = (
    "first sequence, by the clip's voice",
    "the clip's voice, with another clip's regions",
    "first sequence, by the region's voice",
    "the region's voice, with another clip's regions",
    "the region's voice, with another clip's regions and their words",
)


def say_first(
    generator: CaptionGenerator, view: ClipView, config: ModelConfig, is_alone: bool
) -> str:
    beams = config.override({"decoding.samples": 0})
    found = generator.propose(view, beams, sequences=[0], is_alone=is_alone)
    return generator.say(max(found, key=lambda one: one.score).ids)


def swap_regions(view: ClipView, other: ClipView) -> ClipView:
    """The clip's own frames and words, but another clip's regions around their mean."""
    frames = np.arange(len(view.features)) % len(other.features)
    mean = np.asarray(view.features, np.float32).mean(axis=1, keepdims=True)
    strange = np.asarray(other.features[frames], np.float32)
    return replace(view, features=strange - strange.mean(axis=1, keepdims=True) + mean)


def swap_words(view: ClipView, other: ClipView) -> ClipView:
    return replace(view, sequence_words=other.sequence_words)


def find_best(
    generator: CaptionGenerator, view: ClipView, config: ModelConfig
) -> list[tuple[int, ...]]:
    """Each sequence's best sentence."""
    best: dict[int, Hypothesis] = {}
    beams, is_alone = config.override({"decoding.samples": 0}), config.streams.region_voice > 0
    for one in generator.propose(view, beams, is_alone=is_alone):
        best.setdefault(one.sequence, one)
    return [best[sequence].ids for sequence in range(len(view.paths))]


def share_best(likelihoods: FloatArray) -> float:
    """Of sentences in the order of their sequences."""
    return share_first([Choice(each, each) for each in range(len(likelihoods))], likelihoods)


if __name__ == "__main__":
    main()
