"""Train Lexical-FCNs that differ in one thing and print what each finds (docs/log.md).

    python scripts/compare_words.py MANIFEST LEXICON OUT [--cache DIR] [--only NAME …]

A variant that OUT holds already is not trained again, and one that was cut off goes on.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import torch

from densevidcap.config import EyesConfig, WordsConfig, WordTrainingConfig
from densevidcap.data.lexicon import Lexicon
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.metrics.detection import detect, region_similarity
from densevidcap.model_folder import write_json
from densevidcap.models.backbones.weights import load_imagenet
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.train.feature_cache import FeatureCache, cache_features, gather
from densevidcap.train.loop import TrainingLoop
from densevidcap.train.words import WordTask

Variant = tuple[EyesConfig, WordsConfig, WordTrainingConfig]

BASE: Variant = (
    EyesConfig(),
    WordsConfig(),
    WordTrainingConfig(frames_per_clip=2, average=0.98),
)


def vary(
    encoder: dict[str, object] | None = None,
    head: dict[str, object] | None = None,
    words: dict[str, object] | None = None,
) -> Variant:
    """The base with some options changed."""
    return (
        replace(BASE[0], **(encoder or {})),  # type: ignore[arg-type]
        replace(BASE[1], **(head or {})),  # type: ignore[arg-type]
        replace(BASE[2], **(words or {})),  # type: ignore[arg-type]
    )


VARIANTS = {
    "mimll": BASE,
    "mimll, bag = clip": vary(words={"bag": "clip"}),
    "mil": vary(words={"paradigm": "mil"}),
    "mil, bag = clip": vary(words={"paradigm": "mil", "bag": "clip"}),
    "mll": vary(words={"paradigm": "mll"}),
    "mimll, linear (Eq. 3)": vary(head={"hidden": 0, "dropout": 0.3}),
    "mimll, window 7 stride 1": vary(encoder={"window": 7, "stride": 1}),
    "mimll, window 3 stride 2": vary(encoder={"window": 3, "stride": 2}),
    "mimll, lite0": vary(encoder={"backbone": "lite0"}),
    "mimll, all words shape": vary(head={"shaping": 10**6}),
    "mimll, any mention is certain": vary(words={"readers": 0}),
}

EPOCHS = {"mll": 4}
"""Factor on the epochs: a frame is one instance for MLL, not 16, so it learns less from each."""


def describe_regions(task: WordTask) -> dict[str, float]:
    """How different the regions of a frame are, to the eye and by their words."""
    features, shares = [], []
    frequent = slice(0, task.options.frequent)
    with torch.inference_mode():
        for clip in task.held_out:
            regions = task.split(gather(task.cache, [task.cache.rows(clip)])[0])[0]
            features.append(regions.numpy())
            words = torch.sigmoid(task.model.head(regions))[..., frequent]
            # How far the strongest of a frame's regions stands above their mean.
            shares.append((words.amax(dim=1) / words.mean(dim=1)).mean().item())
    alike, corners = region_similarity(np.concatenate(features))
    return {"alike": alike, "corners": corners, "peak": float(np.mean(shares))}


def run_variant(
    variant: Variant,
    records: dict[str, list[ClipRecord]],
    lexicon: Lexicon,
    cache_folder: Path,
    folder: Path,
) -> dict[str, float]:
    encoder, head, words = variant
    model = LexicalFCN(lexicon, encoder, head)
    load_imagenet(model.encoder.backbone)
    stages = len(model.encoder.backbone.stages())
    cache: FeatureCache
    cache, failures = cache_features(
        [*records["train"], *records["validate"]],
        model.encoder,
        cache_folder,
        Sampling(),
        stage=stages - words.tuned if words.tuned else None,
    )
    if failures:
        raise SystemExit("\n".join(failures.values()))
    task = WordTask(model, cache, records["train"], records["validate"], words)
    started = time.monotonic()
    TrainingLoop(task, words, folder).train()
    _, most = task.score(task.held_out)
    strict = detect(most, task.held_out_labels)
    metrics = task.validate() | describe_regions(task)
    metrics |= {
        "region_precision": 100 * strict.precision,
        "region_recall": 100 * strict.recall,
        "minutes": (time.monotonic() - started) / 60,
    }
    model.save(folder, {"metrics": metrics})
    return metrics


@click.command()
@click.argument("manifest", type=click.Path(path_type=Path))
@click.argument("lexicon", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--cache", type=click.Path(path_type=Path), default=Path("cache"))
@click.option("--only", multiple=True, type=click.Choice(list(VARIANTS)))
@click.option("--epochs", default=5)
@click.option("--rate", default=2e-3)
@click.option("--threads", default=0)
def main(
    manifest: Path,
    lexicon: Path,
    out: Path,
    cache: Path,
    only: tuple[str, ...],
    epochs: int,
    rate: float,
    threads: int,
) -> None:
    if threads:
        torch.set_num_threads(threads)
    records: dict[str, list[ClipRecord]] = {"train": [], "validate": []}
    for record in read_manifest(manifest):
        if record.split in records:
            records[record.split].append(record)
    words = Lexicon.load(lexicon)
    for name in only or VARIANTS:
        encoder, head, options = VARIANTS[name]
        options = replace(options, epochs=epochs * EPOCHS.get(name, 1), learning_rate=rate)
        folder = out / name.replace(" ", "-").replace(",", "").replace(".", "")
        results = folder / "figures.json"
        if not results.exists():
            torch.manual_seed(0)
            variant = (encoder, head, options)
            write_json(results, run_variant(variant, records, words, cache, folder))
        print(name, json.loads(results.read_text()), flush=True)


if __name__ == "__main__":
    main()
