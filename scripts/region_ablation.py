"""w_v by round on training clips, and what each term of the objective does to region-sequences.

python scripts/region_ablation.py --model FOLDER --manifest FILE --features FOLDER
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
from rich import box
from rich.console import Console
from rich.progress import Progress, track
from rich.table import Column, Table

from densevidcap.config import RegionsConfig
from densevidcap.data.manifest import read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.metrics.region_metrics import Quality, measure_quality
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.regions import CaptionedClip, generate_sequences, learn_weights
from densevidcap.train.feature_cache import cache_features
from densevidcap.train.view_cache import CaptionedClips


def print_learning(clips: Collection[CaptionedClip], config: RegionsConfig) -> RegionsConfig:
    """A row for each round, from equal weights; returns the config with the last one's."""
    columns = (*config.terms, "largest change", "sentences moved %", "hinge")
    table = Table("round", *(Column(name, justify="right") for name in columns))
    console = Console()
    learned = replace(config, terms=dict.fromkeys(config.terms, 1.0))
    for number, step in enumerate(learn_weights(clips, learned), start=1):
        weights = [*step.terms.values()]
        console.print(f"round {number}: w = {np.round(weights, 3)}")
        learned = replace(config, terms=step.terms)
        table.add_row(
            str(number),
            *(f"{weight:.3f}" for weight in weights),
            f"{step.moved:.3f}",
            f"{100 * step.reassociated:.1f}",
            f"{step.loss:.4f}",
        )
        table.caption = "converged" if step.converged else "not converged"
    console.print(table)
    return learned


def print_ablation(
    clips: Collection[CaptionedClip], learned: RegionsConfig, config: RegionsConfig
) -> None:
    """A row for each choice of terms; figures are means over clips."""
    terms = config.terms
    of_paper = ("informativeness", "divergence", "coherence")
    against_all = dict(zip(of_paper, terms.values(), strict=True))
    rows = {
        "default": config,
        "w = 1": replace(config, terms=dict.fromkeys(terms, 1.0)),
        "w learned": learned,
        "not informative": replace(config, terms=terms | {"informativeness": 0.0}),
        "not diverse": replace(config, terms=terms | {"nearest_divergence": 0.0}),
        "not coherent": replace(config, terms=terms | {"coherence": 0.0}),
        "diverse 3 times": replace(config, terms=terms | {"nearest_divergence": 3.0}),
        "against all": replace(config, terms=against_all),
        "as printed": replace(config, terms=dict.fromkeys(of_paper, 1.0), scaling="paper"),
        "every start": replace(config, search="every-start"),
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
    captioned = CaptionedClips(usable, fcn, cache)
    config = RegionsConfig(k=k)
    print_ablation(captioned, print_learning(captioned, config), config)


if __name__ == "__main__":
    main()
