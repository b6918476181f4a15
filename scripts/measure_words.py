"""What a Lexical-FCN finds in the held-out clips of a manifest, read from the clips themselves.

    python scripts/measure_words.py MODEL MANIFEST [--split validate]

Nothing cached and nothing of the training code: frames in, words out, as a user's clip goes.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from densevidcap.data.clip import open_clip
from densevidcap.data.manifest import read_manifest
from densevidcap.metrics.detection import average_precision, detect, region_similarity
from densevidcap.models.shown_words import score_clip
from densevidcap.models.word_detector import LexicalFCN

FREQUENT = 200


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("manifest", type=click.Path(path_type=Path))
@click.option("--split", default="validate")
def main(folder: Path, manifest: Path, split: str) -> None:
    model = LexicalFCN.load(folder)
    size = model.encoder.size
    records = [record for record in read_manifest(manifest) if record.split == split]
    scores: dict[str, list[np.ndarray]] = {"noisy-OR": [], "mean region": [], "best region": []}
    features, peaks = [], []
    for record in track(records, "Reading clips", console=Console(stderr=True)):
        seen = model.read(open_clip(str(record.source)).sample(size=size))
        words = seen.probabilities
        scores["noisy-OR"].append(score_clip(seen))
        scores["mean region"].append(words.mean(axis=(0, 1)))
        scores["best region"].append(words.max(axis=(0, 1)))
        frequent = words[:, :, :FREQUENT]
        peaks.append(float((frequent.max(axis=1) / frequent.mean(axis=1)).mean()))
        features.append(seen.features)
    labels = np.stack([model.lexicon.label(record.captions) for record in records])
    enough = labels.sum(axis=0) >= 5

    table = Table(title=f"{len(records)} clips, {len(model.lexicon):,} words, in percent")
    for column in ("a clip's score", f"mean AP, {FREQUENT} most frequent", "mean AP, >= 5 clips"):
        table.add_column(column)
    for column in ("precision at .5", "recall at .5", "of its k words in its top k"):
        table.add_column(column)
    for name, rows in scores.items():
        score = np.stack(rows)
        precisions = average_precision(score, labels)
        found = detect(score, labels)
        figures = (
            np.nanmean(precisions[:FREQUENT]),
            np.nanmean(precisions[enough]),
            found.precision,
            found.recall,
            found.top_k,
        )
        table.add_row(name, *(f"{100 * figure:.2f}" for figure in figures))
    table.add_row("chance", f"{100 * labels[:, :FREQUENT].mean():.2f}")
    Console().print(table)
    alike, corners = region_similarity(np.concatenate(features))
    print(f"regions of a frame: centred cosine {alike:.2f}, opposite corners {corners:.2f};")
    print(f"a word's best region stands at {np.mean(peaks):.2f} times the mean of the frame's")


if __name__ == "__main__":
    main()
