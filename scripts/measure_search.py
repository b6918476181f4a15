"""Text-to-clip retrieval: each caption of a manifest must find its own clip in a library of them.

    python scripts/measure_search.py LIBRARY MANIFEST [--weights]

Recall at 1, 5 and 10, and the median rank, for each signal alone and fused, beside chance. Ties
count against a signal. With `--weights`, the best weights of the signals by one half of the clips,
and what they find in the other.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from itertools import product

import numpy as np

from densevidcap.data.manifest import read_manifest
from densevidcap.library.search import WEIGHTS, Finder, standardise
from densevidcap.library.store import Library
from densevidcap.metrics.retrieval import TOPS, rank_clips, recall
from densevidcap.regions.objectives import IndexArray
from densevidcap.types import FloatArray

GRID = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
"""Weights of the other signals, where that of words is 1."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("manifest")
    parser.add_argument("--weights", action="store_true")
    asked = parser.parse_args()
    signals, owners = ask_all(asked.library, asked.manifest)
    clips = next(iter(signals.values())).shape[1]
    print(f"{len(owners):,} questions, {clips} clips")
    print(f"{'':28}" + "".join(f"{f'R@{top}':>8}" for top in TOPS) + "  median rank")
    for name, scores in signals.items():
        tell(name, scores, owners)
    if "meaning" in signals:
        tell("sentences + words", add(signals, {**WEIGHTS, "meaning": 0.0}), owners)
    tell("all fused", add(signals, WEIGHTS), owners)
    recalls = "".join(f"{100 * top / clips:8.1f}" for top in TOPS)
    print(f"{'chance':28}{recalls}{(clips + 1) / 2:13.0f}")
    if asked.weights:
        choose_by_halves(signals, owners)


def choose_by_halves(signals: Mapping[str, FloatArray], owners: IndexArray) -> None:
    """The weights that find most for one half of the clips, and what they find for the other."""
    others = [name for name in signals if name != "words"]
    grid = [
        dict(zip(others, given, strict=True)) | {"words": 1.0}
        for given in product(GRID, repeat=len(others))
    ]
    ranks = [rank_clips(add(signals, weights), owners) for weights in grid]
    for half in (0, 1):
        chosen_on = owners % 2 == half
        worth = [sum(recall(each[chosen_on], "clip").values()) for each in ranks]
        best = int(np.argmax(worth))
        found = recall(ranks[best][~chosen_on], "clip")
        plain = recall(rank_clips(signals["words"], owners)[~chosen_on], "clip")
        told = " ".join(f"{name} {weight}" for name, weight in grid[best].items())
        print(
            f"chosen on one half: {told}; on the other {_list(found)}, words alone {_list(plain)}"
        )
    worth = [sum(recall(each, "clip").values()) for each in ranks]
    for place in np.argsort(worth)[::-1][:5].tolist():
        told = " ".join(f"{name} {weight}" for name, weight in grid[place].items())
        print(f"on all: {told}: {_list(recall(ranks[place], 'clip'))}")


def _list(found: Mapping[str, float]) -> str:
    return " / ".join(f"{value:.1f}" for value in found.values())


def ask_all(folder: str, manifest: str) -> tuple[dict[str, FloatArray], IndexArray]:
    """Standardised scores (Q, C) of all captions under all clips, and the captions' clips (Q,)."""
    library = Library(folder)
    names = {source.identity: source.name for source, _ in library.list_files()}
    records = {record.id: record for record in read_manifest(manifest)}
    with Finder(library) as finder:
        clips = sorted({names[row.identity] for row in finder.segments.values()})
        if missing := records.keys() - {*clips}:
            sys.exit(f"{len(missing)} clips of {manifest} are not in {folder}")
        place = {clip: number for number, clip in enumerate(clips)}
        segments = np.array([place[names[row.identity]] for row in finder.segments.values()])
        asked = [clip for clip in clips if clip in records]
        questions = [(place[clip], text) for clip in asked for text in records[clip].captions]
        signals: dict[str, FloatArray] = {}
        for number, (_, text) in enumerate(questions):
            for name, row in finder.score(text).items():
                # A signal that has nothing to say to a question ranks nothing.
                shape = len(questions), len(clips)
                table = signals.setdefault(name, np.zeros(shape, np.float32))
                best = np.full(len(clips), -np.inf, np.float32)
                np.maximum.at(best, segments, standardise(row).astype(np.float32))
                table[number] = best
    return signals, np.array([owner for owner, _ in questions])


def add(signals: Mapping[str, FloatArray], weights: Mapping[str, float]) -> FloatArray:
    return np.asarray(sum(weights[name] * scores for name, scores in signals.items()))


def tell(name: str, scores: FloatArray, owners: IndexArray) -> None:
    ranks = rank_clips(scores, owners)
    recalls = "".join(f"{value:8.1f}" for value in recall(ranks, "clip").values())
    print(f"{name:28}{recalls}{np.median(ranks) + 1:13.0f}")


if __name__ == "__main__":
    main()
