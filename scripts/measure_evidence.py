"""How many words of a first sentence its own region-sequence shows, on a manifest's held-out clips.

    python scripts/measure_evidence.py MANIFEST [--model FOLDER] [--cache DIR]

Beside it: the same for the first sentence of another clip, held to this clip's region-sequences,
whichever shows it best, so that the comparison is fair.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import torch
from rich.console import Console
from rich.progress import track

from densevidcap.data.lexicon import list_content_words
from densevidcap.data.manifest import read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.decoding.select import choose
from densevidcap.pipeline.analysis import Segment
from densevidcap.pipeline.captioner import DenseCaptioner
from densevidcap.pipeline.captions import find_evidence
from densevidcap.train.feature_cache import cache_features
from densevidcap.train.stage import HELD_OUT

LEVELS = (0.05, 0.1, 0.2)
"""Probabilities from which on a word has evidence."""


def share_shown(sentence: str, sequence: int, segment: Segment, least: float) -> float:
    """Of the sentence's content words."""
    evidence, _ = find_evidence(sentence, segment.sequence(sequence), segment, least)
    return len(evidence) / max(1, len(set(list_content_words(sentence))))


def share_best(sentence: str, segment: Segment, least: float) -> float:
    """In the sequence that shows most of it."""
    return max(share_shown(sentence, k, segment, least) for k in range(len(segment.paths)))


@click.command()
@click.argument("manifest", type=click.Path(path_type=Path))
@click.option("--model", type=click.Path(path_type=Path))
@click.option("--cache", type=click.Path(path_type=Path), default=Path("cache"))
@click.option("--threads", default=0)
def main(manifest: Path, model: Path | None, cache: Path, threads: int) -> None:
    if threads:
        torch.set_num_threads(threads)
    captioner = DenseCaptioner.load(model)
    config = captioner.override({"selection.k": 1})
    clips = [r for r in read_manifest(manifest) if r.captions and r.split in ("train", *HELD_OUT)]
    features, _ = cache_features(
        clips, captioner.words.encoder, cache, Sampling.of(config.frames), engine=config.engine
    )
    held_out = [record.id for record in clips if record.split in HELD_OUT]
    own: dict[float, list[float]] = {level: [] for level in LEVELS}
    best: dict[float, list[float]] = {level: [] for level in LEVELS}
    strange: dict[float, list[float]] = {level: [] for level in LEVELS}
    before: str | None = None
    for clip in track(held_out, "Describing", console=Console(stderr=True)):
        times = features.times(clip)
        seen = captioner.words.describe(features.features(clip), times)
        segment = captioner.describe(seen, (float(times[0]), float(times[-1]) + 1), config)
        (first,) = choose(segment.candidates, config.selection)
        sentence = segment.candidates.sentences[first.candidate]
        for level in LEVELS:
            own[level].append(share_shown(sentence, first.sequence, segment, level))
            best[level].append(share_best(sentence, segment, level))
            if before is not None:
                strange[level].append(share_best(before, segment, level))
        before = sentence
    print(
        f"content words of the first sentence with evidence, of {len(held_out)} clips, in percent"
    )
    for level in LEVELS:
        shares = (100 * np.mean(each[level]) for each in (own, best, strange))
        print(
            "from {} on: own sequence {:.1f}, best {:.1f}; other clip's {:.1f}".format(
                level, *shares
            )
        )


if __name__ == "__main__":
    main()
