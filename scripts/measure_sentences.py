"""What a captioner says of the held-out clips of a manifest: how good, how different, and why.

    python scripts/measure_sentences.py MODEL MANIFEST [--words MODEL] [--cache DIR] [--show N]

Prints the single sentence of each clip against its captions; ten sentences of each, by several ways
of choosing them, beside the null curve (random sentences of other clips mixed in); and how much a
sentence depends on its own region-sequence. `--show` lists sentences beside captions of N clips.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

from densevidcap.artefacts import find_model
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.data.sampling import Sampling
from densevidcap.evaluation.captions import CaptionScorer
from densevidcap.evaluation.dense import DenseScores, score_dense
from densevidcap.evaluation.null import diversity_at_equal_cider, trace_null_curve
from densevidcap.fits import HELD_OUT
from densevidcap.language.beams import BeamOptions
from densevidcap.language.choosing import ChoiceOptions, choose
from densevidcap.language.describer import Candidate, Describer
from densevidcap.language.draws import DrawOptions
from densevidcap.language.library import LibraryOptions, open_library
from densevidcap.language.views import ClipView
from densevidcap.lexical.fcn import LexicalFCN
from densevidcap.lexical.features import cache_features
from densevidcap.records import FloatArray
from densevidcap.regions.association import spread

WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
"""Of diversity."""


class Said(NamedTuple):
    """What is said of a clip."""

    searched: list[Candidate]
    """By beams alone."""
    pool: list[Candidate]
    """Drawn ones too."""
    likelihoods: FloatArray
    """(K, K): log P(each sequence's best sentence | each sequence)."""
    chosen: dict[float, list[int]]
    """By the weight of diversity: places in the pool."""
    ties: FloatArray
    """(S, K): log P(sentence | sequence) of those chosen with the default weight."""


def describe(describer: Describer, view: ClipView, draws: DrawOptions) -> Said:
    beams = BeamOptions()
    searched = describer.propose(view, beams)
    pool = describer.propose(view, beams, draws)
    quality, meanings = describer.rate(pool), describer.place(pool)
    said = [candidate.words for candidate in pool]
    chosen = {
        weight: choose(said, quality, meanings, ChoiceOptions(diversity=weight))
        for weight in WEIGHTS
    }
    best = [next(c for c in searched if c.sequence == k) for k in range(len(view.paths))]
    default = [said[place] for place in chosen[ChoiceOptions().diversity]]
    return Said(
        searched,
        pool,
        describer.compare(view, [candidate.words for candidate in best]),
        chosen,
        describer.compare(view, default),
    )


def swap_regions(view: ClipView, other: ClipView) -> ClipView:
    """The clip's own frames and words, but another clip's regions, as far as they differ from
    their own frame's mean."""
    frames = np.arange(len(view.features)) % len(other.features)
    mean = np.asarray(view.features, np.float32).mean(axis=1, keepdims=True)
    strange = np.asarray(other.features[frames], np.float32)
    return replace(view, features=strange - strange.mean(axis=1, keepdims=True) + mean)


def print_dense(rows: dict[str, DenseScores], null: dict[int, DenseScores]) -> None:
    columns = ["different", "D_div", "null at CIDEr@10", "CIDEr@5", "CIDEr@10", "METEOR@10"]
    columns += ["best of 10", "content precision", "said", "found"]
    table = Table("ten sentences", *columns)
    for name, scores in rows.items():
        table.add_row(
            name,
            f"{scores.different:.1f}",
            f"{scores.diversity:.3f}",
            f"{diversity_at_equal_cider(scores, list(null.values())):.3f}",
            *(f"{100 * scores.precision[top]['CIDEr']:.1f}" for top in (5, 10)),
            f"{100 * scores.precision[10]['METEOR']:.1f}",
            f"{100 * scores.best['CIDEr']:.1f}",
            f"{scores.content.precision:.2f}",
            f"{scores.content.said:.1f}",
            f"{scores.content.found:.1f}",
        )
    Console(width=140).print(table)


def print_ties(said: list[Said]) -> None:
    first = [each.likelihoods.argmax(axis=1) for each in said]
    own = np.mean([(best == np.arange(len(best))).mean() for best in first])
    tied, strange = [], []
    random = np.random.default_rng(0)
    for each in said:
        pairs = spread(each.ties, most=1)
        tied.append((each.ties.argmax(axis=1) == pairs).mean())
        # The same with each sentence's likelihoods in random order: what tying alone brings.
        shuffled = random.permuted(each.ties, axis=1)
        strange.append((shuffled.argmax(axis=1) == spread(shuffled, most=1)).mean())
    print(f"a sequence's best sentence is likeliest under that sequence: {100 * own:.1f}% (10)")
    print(
        f"chosen sentences, each tied to a sequence of its own, are likeliest under that: "
        f"{100 * np.mean(tied):.1f}% ({100 * np.mean(strange):.1f} with likelihoods shuffled)"
    )


def print_sentences(first: dict[str, str], training: set[str]) -> None:
    lengths = [len(sentence.split()) for sentence in first.values()]
    verbatim = np.mean([sentence in training for sentence in first.values()])
    print(
        f"{len(set(first.values()))} different single sentences of {len(first)} clips, "
        f"{np.mean(lengths):.1f} words long, {100 * verbatim:.0f}% verbatim training captions"
    )


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("manifest", type=click.Path(path_type=Path))
@click.option("--words", type=click.Path(path_type=Path))
@click.option("--cache", type=click.Path(path_type=Path), default=Path("cache"))
@click.option("--draws", default=20, help="Sentences drawn for each sequence.")
@click.option("--temperature", default=0.7)
@click.option("--show", default=0, help="Clips to list beside their captions.")
@click.option("--out", type=click.Path(path_type=Path), help="JSON of the chosen sentences.")
@click.option("--threads", default=0)
def main(
    model: Path,
    manifest: Path,
    words: Path | None,
    cache: Path,
    draws: int,
    temperature: float,
    show: int,
    out: Path | None,
    threads: int,
) -> None:
    if threads:
        torch.set_num_threads(threads)
    describer = Describer.load(model)
    records = [r for r in read_manifest(manifest) if r.captions]
    clips = [r for r in records if r.split in ("train", *HELD_OUT)]
    fcn = LexicalFCN.load(find_model(words, "words"))
    features, _ = cache_features(clips, fcn.encoder, cache, Sampling())
    library = open_library(cache, fcn, features, clips, LibraryOptions())
    held_out = [r for r in clips if r.split in HELD_OUT]
    views = {r.id: library.view(r.id) for r in held_out}
    options = DrawOptions(count=draws, temperature=temperature)
    said = {
        r.id: describe(describer, views[r.id], options)
        for r in track(held_out, "Describing", console=Console(stderr=True))
    }
    first = {
        clip: describer.say(max(each.searched, key=lambda c: (c.sequence == 0, c.score)).words)
        for clip, each in said.items()
    }
    rows = {"each sequence's best": {clip: _best(describer, s) for clip, s in said.items()}}
    for weight in WEIGHTS:
        rows[f"chosen, diversity {weight}"] = {
            clip: [describer.say(each.pool[place].words) for place in each.chosen[weight]]
            for clip, each in said.items()
        }
    if out:
        chosen = rows[f"chosen, diversity {ChoiceOptions().diversity}"]
        out.write_text(json.dumps(chosen, indent=1))
    agreed = {clip: each[0] for clip, each in rows["chosen, diversity 0.0"].items()}
    swapped = _swap(describer, views)
    with CaptionScorer({r.id: r.captions for r in held_out}) as scorer:
        for name, sentences in (
            ("first sequence, beams", first),
            ("the same, another clip's regions", swapped),
            ("consensus", agreed),
        ):
            overall = scorer.score(sentences).overall
            figures = ("METEOR", "Bleu_4", "ROUGE_L", "CIDEr")
            print(name, ", ".join(f"{metric} {100 * overall[metric]:.1f}" for metric in figures))
        null = trace_null_curve(agreed, scorer, describer.meaning)
        dense = {name: score_dense(each, scorer, describer.meaning) for name, each in rows.items()}
    print_dense({**dense, **{f"null, {n} strangers": s for n, s in null.items()}}, null)
    print_ties(list(said.values()))
    print_sentences(
        agreed, {c.lower().rstrip(".") for r in clips if r.split == "train" for c in r.captions}
    )
    for record in held_out[:show]:
        _show(record, rows[f"chosen, diversity {ChoiceOptions().diversity}"][record.id])


def _best(describer: Describer, said: Said) -> list[str]:
    """Each sequence's best sentence, the likeliest first."""
    best: dict[int, Candidate] = {}
    for candidate in said.searched:
        best.setdefault(candidate.sequence, candidate)
    ranked = sorted(best.values(), key=lambda candidate: -candidate.score)
    return [describer.say(candidate.words) for candidate in ranked]


def _swap(describer: Describer, views: dict[str, ClipView]) -> dict[str, str]:
    clips = list(views)
    swapped = {}
    for clip, other in zip(clips, clips[1:] + clips[:1], strict=True):
        view = swap_regions(views[clip], views[other])
        found = describer.propose(view, BeamOptions(), sequences=[0])
        swapped[clip] = describer.say(max(found, key=lambda each: each.score).words)
    return swapped


def _show(record: ClipRecord, sentences: list[str]) -> None:
    print(f"\n{record.id}: " + " | ".join(sentences[:5]))
    print("  people: " + " | ".join(record.captions[:5]))


if __name__ == "__main__":
    main()
