"""Text-to-clip retrieval: each caption of a manifest must find its own clip in a library of them.

    python scripts/measure_search.py LIBRARY MANIFEST

Recall at 1, 5 and 10, and the median rank, for each signal alone and fused, beside chance. Ties
count against a signal.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from densevidcap.data.manifest import read_manifest
from densevidcap.library.search import Finder, Scores, fuse, standardise
from densevidcap.library.store import Library
from densevidcap.metrics.retrieval import TOPS, rank_clips, recall
from densevidcap.types import FloatArray


def main(folder: str, manifest: str) -> None:
    library = Library(folder)
    names = {source.identity: source.name for source, _ in library.list_files()}
    records = {record.id: record for record in read_manifest(manifest)}
    with Finder(library) as finder:
        clips = sorted({names[row.identity] for row in finder.segments.values()})
        place = {clip: number for number, clip in enumerate(clips)}
        owner_of_segment = np.array(
            [place[names[row.identity]] for row in finder.segments.values()]
        )
        missing = records.keys() - place.keys()
        if missing:
            sys.exit(f"{len(missing)} clips of {manifest} are not in {folder}")
        questions = [(place[clip], text) for clip in clips for text in records[clip].captions]
        nothing = np.zeros(len(clips), np.float32)
        signals: dict[str, list[FloatArray]] = {}
        for number, (_, text) in enumerate(questions):
            scores = {name: standardise(each) for name, each in finder.score(text).items()}
            for name, row in {**scores, **_combine(scores)}.items():
                best = np.full(len(clips), -np.inf, np.float32)
                np.maximum.at(best, owner_of_segment, row.astype(np.float32))
                # A signal that had nothing to say to a question ranks nothing.
                ranked = signals.setdefault(name, [])
                ranked += [nothing] * (number - len(ranked)) + [best]
    for ranked in signals.values():
        ranked += [nothing] * (len(questions) - len(ranked))
    owners = [owner for owner, _ in questions]
    print(f"{len(owners):,} questions, {len(clips)} clips")
    print(f"{'':28}" + "".join(f"{f'R@{top}':>8}" for top in TOPS) + "  median rank")
    for name, rows_of_name in signals.items():
        ranks = rank_clips(np.stack(rows_of_name), np.array(owners))
        _print(name, [*recall(ranks, "r").values()], float(np.median(ranks)) + 1)
    _print("chance", [100 * top / len(clips) for top in TOPS], (len(clips) + 1) / 2)


def _combine(scores: dict[str, Scores]) -> dict[str, Scores]:
    """All signals, and all pairs of them where there are more."""
    names = list(scores)
    if len(names) < 2:
        return {"all fused": next(iter(scores.values()))} if names else {}
    pairs = {
        f"{a} + {b}": fuse({a: scores[a], b: scores[b]})
        for n, a in enumerate(names)
        for b in names[n + 1 :]
        if len(names) > 2
    }
    return {**pairs, "all fused": fuse(scores)}


def _print(name: str, recalls: list[float], median: float) -> None:
    print(f"{name:28}" + "".join(f"{value:8.1f}" for value in recalls) + f"{median:13.0f}")


if __name__ == "__main__":
    if len(sys.argv) != 3 or not Path(sys.argv[2]).exists():
        sys.exit(__doc__)
    main(*sys.argv[1:])
