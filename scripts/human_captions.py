"""What human captions reach: one against the others of its clip, and how different they are.

    python scripts/human_captions.py --captions CAPTIONS [--split validate] [--clips MANIFEST]

`--clips` scores only the clips of another manifest. The latent space is fitted on the split
`train` of CAPTIONS; diversity is measured on all clips of the split.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from densevidcap.data.lsa import LatentSpace
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.evaluation import METRICS, describe_evaluator, score_captions
from densevidcap.evaluation.diversity import cluster, diversity
from densevidcap.evaluation.humans import hold_out

CLUSTERS = (2, 3, 4, 5, 6, 7, 8, 9, 10)
DIMENSIONS = (5, 8, 10, 12, 20, 50)


@click.command()
@click.option("--captions", type=click.Path(path_type=Path), required=True, help="A manifest.")
@click.option("--split", default="validate", show_default=True)
@click.option("--clips", type=click.Path(path_type=Path), help="Score only this manifest's.")
@click.option("--seed", default=0, show_default=True)
def main(captions: Path, split: str, clips: Path | None, seed: int) -> None:
    corpus = list(read_manifest(captions))
    held_out = [clip for clip in corpus if clip.split == split]
    chosen = {clip.id for clip in read_manifest(clips or captions)}
    _show_scores([clip for clip in held_out if clip.id in chosen], seed)
    train = [caption for clip in corpus if clip.split == "train" for caption in clip.captions]
    _show_diversity(train, held_out)


def _show_scores(clips: list[ClipRecord], seed: int) -> None:
    """One drawn caption of each clip against its others."""
    drawn, others = hold_out({clip.id: clip.captions for clip in clips}, 1, seed)
    scores = score_captions({video: said for video, (said,) in drawn.items()}, others)
    table = Table(*METRICS, title=f"a human caption against the others, {len(clips)} clips")
    table.add_row(*(f"{100 * scores.overall[metric]:.1f}" for metric in METRICS))
    Console().print(table)
    click.echo("\n".join(f"{name}: {value}" for name, value in describe_evaluator().items()))


def _show_diversity(train: list[str], clips: list[ClipRecord]) -> None:
    table = Table("dims", "all", *map(str, CLUSTERS), title=f"D_div, {len(clips)} clips")
    for dimensions in DIMENSIONS:
        space = LatentSpace.fit(train, dimensions)
        placed = [space.embed(clip.captions) for clip in clips]
        found = [np.mean([diversity(vectors) for vectors in placed])]
        found += [
            np.mean([diversity(cluster(vectors, count, n)) for n, vectors in enumerate(placed)])
            for count in CLUSTERS
        ]
        table.add_row(str(dimensions), *(f"{value:.3f}".lstrip("0") for value in found))
    Console().print(table)


if __name__ == "__main__":
    main()
