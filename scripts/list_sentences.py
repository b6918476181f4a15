"""List what is said of clips beside what people said of them.

    python scripts/list_sentences.py PREDICTIONS MANIFEST [--clips N] [--top K]

PREDICTIONS is what `densevidcap caption --predictions` writes. The clips are spread evenly over it.
"""

from __future__ import annotations

from pathlib import Path

import click

from densevidcap.data.manifest import read_manifest
from densevidcap.metrics.sentence_files import read_predictions
from densevidcap.viz.canvas import choose_evenly


@click.command()
@click.argument("predictions", type=click.Path(path_type=Path))
@click.argument("manifest", type=click.Path(path_type=Path))
@click.option("--clips", default=20, show_default=True, type=click.IntRange(1))
@click.option("--top", default=5, show_default=True, type=click.IntRange(1))
def main(predictions: Path, manifest: Path, clips: int, top: int) -> None:
    said = read_predictions(predictions).sentences
    people = {record.id: record.captions for record in read_manifest(manifest)}
    names = list(said)
    for place in choose_evenly(len(names), clips):
        clip = names[place]
        print(clip)
        for sentence in said[clip][:top]:
            print(f"  {sentence}")
        for caption in people.get(clip, ())[:top]:
            print(f"      people: {caption}")


if __name__ == "__main__":
    main()
