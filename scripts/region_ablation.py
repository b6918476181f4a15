"""w_v by round on training clips, and what each term of the objective does to region-sequences.

python scripts/region_ablation.py --model FOLDER --manifest FILE --features FOLDER
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
from rich import box
from rich.console import Console
from rich.progress import Progress, track
from rich.table import Column, Table

from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.metrics.region_metrics import Quality, measure_quality
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.regions import (
    EQUAL_WEIGHTS,
    CaptionedClip,
    SequenceOptions,
    Weights,
    generate_sequences,
    learn_weights,
)
from densevidcap.train.feature_cache import FeatureCache, cache_features


class CachedClips(Collection[CaptionedClip]):
    """Clips whose words are computed from cached features each time they are gone through."""

    def __init__(self, records: Sequence[ClipRecord], fcn: LexicalFCN, cache: FeatureCache) -> None:
        self._records, self._fcn, self._cache = records, fcn, cache

    def __iter__(self) -> Iterator[CaptionedClip]:
        for record in self._records:
            yield CaptionedClip(
                self._fcn.describe(self._cache.features(record.id), self._cache.times(record.id)),
                [np.array(self._fcn.lexicon.find(text), np.intp) for text in record.captions],
            )

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, clip: object) -> bool:
        return any(clip is other for other in self)


def print_learning(clips: Collection[CaptionedClip], options: SequenceOptions) -> Weights:
    """A row for each round, from equal weights; returns the last one's."""
    columns = (*Weights._fields, "largest change", "sentences moved %", "hinge")
    table = Table("round", *(Column(name, justify="right") for name in columns))
    console = Console()
    weights = EQUAL_WEIGHTS
    for number, step in enumerate(learn_weights(clips, replace(options, weights=weights)), start=1):
        console.print(f"round {number}: w = {np.round(step.weights, 3)}")
        weights = step.weights
        table.add_row(
            str(number),
            *(f"{weight:.3f}" for weight in weights),
            f"{step.moved:.3f}",
            f"{100 * step.reassociated:.1f}",
            f"{step.loss:.4f}",
        )
        table.caption = "converged" if step.converged else "not converged"
    console.print(table)
    return weights


def print_ablation(
    clips: Collection[CaptionedClip], learned: Weights, options: SequenceOptions
) -> None:
    """A row for each choice of terms; figures are means over clips."""
    weights = options.weights
    rows = {
        "default": options,
        "w = 1": replace(options, weights=EQUAL_WEIGHTS),
        "w learned": replace(options, weights=learned),
        "not informative": replace(options, weights=weights._replace(informative=0)),
        "not diverse": replace(options, weights=weights._replace(diverse=0)),
        "not coherent": replace(options, weights=weights._replace(coherent=0)),
        "diverse 3 times": replace(options, weights=weights._replace(diverse=3)),
        "against all": replace(options, against="all"),
        "as printed": replace(options, weights=EQUAL_WEIGHTS, against="all", scaling="paper"),
        "every start": replace(options, optimiser="every-start"),
    }
    columns = (Column(name, justify="right") for name in Quality._fields)
    table = Table("terms", *columns, box=box.SIMPLE, pad_edge=False, collapse_padding=True)
    qualities: dict[str, list[Quality]] = {name: [] for name in rows}
    for captioned in track(clips, "measuring"):
        for name, choice in rows.items():
            sequences = generate_sequences(captioned.clip, choice)
            qualities[name].append(measure_quality(sequences, captioned.clip))
    for name, of_clips in qualities.items():
        table.add_row(name, *(f"{mean:.3f}" for mean in np.mean(of_clips, axis=0)))
    Console().print(table)


@click.command()
@click.option("--model", type=click.Path(path_type=Path), required=True, help="A Lexical-FCN.")
@click.option("--manifest", type=click.Path(path_type=Path), required=True)
@click.option("--features", type=click.Path(path_type=Path), required=True, help="Cache folder.")
@click.option("--split", default="train", show_default=True)
@click.option("--clips", default=200, show_default=True)
@click.option("--k", default=10, show_default=True, help="Region-sequences of a clip.")
def main(model: Path, manifest: Path, features: Path, split: str, clips: int, k: int) -> None:
    fcn = LexicalFCN.load(model)
    records = [record for record in read_manifest(manifest) if record.split == split][:clips]
    with Progress() as progress:
        task = progress.add_task("features", total=len(records))
        cache, failures = cache_features(
            records,
            fcn.encoder,
            features,
            Sampling(),
            advance=lambda: progress.advance(task),
        )
    usable = [record for record in records if record.id not in failures]
    captioned = CachedClips(usable, fcn, cache)
    options = SequenceOptions(k=k)
    print_ablation(captioned, print_learning(captioned, options), options)


if __name__ == "__main__":
    main()
