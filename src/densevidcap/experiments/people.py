"""How different the captions are that people wrote of a clip, as they are and clustered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from densevidcap.data.lsa import Array, LatentSpace
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.errors import CorpusError
from densevidcap.evaluation.diversity import cluster, diversity
from densevidcap.fits import HELD_OUT

CLUSTERS = tuple(range(2, 11))


@dataclass(frozen=True)
class People:
    """Of held-out clips, in the latent space of the training captions."""

    space: LatentSpace
    clips: int
    everything: float
    """D_div of all captions of a clip."""
    clustered: Mapping[int, float]
    """By how many clusters: D_div of their centres."""


def read_captions(manifest: Path) -> tuple[list[str], list[ClipRecord]]:
    """Of training clips, and the held-out clips."""
    records = [record for record in read_manifest(manifest) if record.captions]
    trained = [text for record in records if record.split == "train" for text in record.captions]
    held_out = [record for record in records if record.split in HELD_OUT]
    if not trained or not held_out:
        raise CorpusError(f"{manifest}: needs captions of split 'train' and of 'validate'")
    return trained, held_out


def measure_people(
    trained: Sequence[str],
    clips: Sequence[ClipRecord],
    dimensions: int,
    advance: Callable[[], None],
) -> People:
    space = LatentSpace.fit(trained, dimensions)
    placed = [space.embed(clip.captions) for clip in clips]
    clustered = {}
    for count in CLUSTERS:
        centres = [cluster(vectors, count, seed) for seed, vectors in enumerate(placed)]
        clustered[count] = _mean(centres)
        advance()
    return People(space, len(clips), _mean(placed), clustered)


def _mean(clips: Sequence[Array]) -> float:
    return float(np.mean([diversity(vectors) for vectors in clips]))
