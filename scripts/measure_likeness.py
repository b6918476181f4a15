"""What looks alike, and where answers point, in a library whose clips have categories and boxes.

    python scripts/measure_likeness.py LIBRARY MANIFEST [--pointing CASES]

How often the clip that looks most like another is of its category, for the ways to compare that
were tried, beside chance; the same for regions, each asking with a part of the picture. With
`--pointing`, how often the middle of an answer's box lies on the thing that was asked for, in the
frame that the answer tells: CASES are those of the pointing game (docs/evaluation.md).
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np

from densevidcap.data.boxes import read_cases
from densevidcap.data.manifest import read_manifest
from densevidcap.library.looks import REGIONS, SEGMENTS, Rows
from densevidcap.library.search import Answer, Finder
from densevidcap.library.shown import from_byte
from densevidcap.library.store import Library
from densevidcap.library.vectors import compare, find_centre, lengthen
from densevidcap.metrics.grounding import are_on, cover
from densevidcap.types import FloatArray

FAINT = 1e-3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("manifest")
    parser.add_argument("--pointing", type=Path)
    asked = parser.parse_args()
    library = Library(asked.library)
    names = {source.identity: source.name for source, _ in library.list_files()}
    category = {record.id: record.category for record in read_manifest(asked.manifest)}
    with Finder(library) as finder:
        compare_clips(finder, names, category)
        if asked.pointing:
            point(finder, asked.pointing)


def compare_clips(
    finder: Finder, names: dict[str | None, str], category: dict[str, str | None]
) -> None:
    """Clips of one segment each."""
    numbers = list(finder.segments)
    own = [category[names[row.identity]] for row in finder.segments.values()]
    records = [finder.library.read_words(row.identity) for row in finder.segments.values()]
    segments = [record.segments[0] for record in records if record is not None]
    assert len(segments) == len(numbers)
    digest = next(record.digest for record in records if record is not None)
    lexicon = finder.library.read_lexicon(digest)
    looks = np.stack([each.look.astype(np.float32) for each in segments])
    named = np.stack([lexicon.calibrate(from_byte(each.clip)) for each in segments])
    odds = np.log(np.clip(named, FAINT, 0.999)) - np.log1p(-np.clip(named, FAINT, 0.999))
    spread = np.maximum(odds.std(axis=0), 0.3)
    words = lengthen(np.asarray((odds - odds.mean(axis=0)) / spread, np.float32))
    plain, centred = lengthen(looks), lengthen(lengthen(looks) - lengthen(looks).mean(axis=0))
    print(f"{len(numbers)} clips; the nearest is of the same category, and of the nearest five:")
    tell("look, plain cosine", plain @ plain.T, own)
    tell("look, from the centre", centred @ centred.T, own)
    tell("words, standardised log-odds", words @ words.T, own)
    tell("look and words", centred @ centred.T + words @ words.T, own)
    rows = finder.index.looks.read(SEGMENTS, digest, looks.shape[1])
    assert rows is not None
    centre = find_centre(rows.vectors, rows.list_live())
    table = np.stack([compare(rows.vectors, look[None], centre) for look in looks])
    place = {int(segment): n for n, segment in enumerate(rows.segments)}
    tell("look, as the index has it", table[:, [place[number] for number in numbers]], own)
    share = Counter(own)
    chance = sum(n * (n - 1) for n in share.values()) / (len(own) * (len(own) - 1))
    print(f"  {'chance':30} {chance:6.1%}")
    regions = finder.index.looks.read(REGIONS, digest, looks.shape[1])
    if regions is not None:
        compare_regions(regions, numbers, own)


def compare_regions(rows: Rows, numbers: list[int], own: list[str | None]) -> None:
    """A region of each clip, drawn once, must find a region of a clip of the same category."""
    random = np.random.default_rng(0)
    place = {int(segment): n for n, segment in enumerate(rows.segments)}
    order = [place[number] for number in numbers]
    centre = find_centre(rows.vectors, rows.list_live())
    table = []
    for mine in order:
        drawn = rows.firsts[mine] + random.integers(rows.counts[mine])
        query = np.asarray(rows.vectors[drawn], np.float32)[None]
        table.append(rows.find_best(compare(rows.vectors, query, centre))[order])
    tell("a region of it, among regions", np.stack(table), own)


def tell(name: str, near: FloatArray, own: list[str | None]) -> None:
    near = near.copy()
    np.fill_diagonal(near, -np.inf)
    order = np.argsort(-near, axis=1, kind="stable")
    same = np.array([[own[n] == mine for n in row] for row, mine in zip(order, own, strict=True)])
    print(f"  {name:30} {same[:, 0].mean():6.1%} {same[:, :5].mean():6.1%}")


def point(finder: Finder, path: Path) -> None:
    """For each thing of a clip, the word for it that is likeliest there is asked for."""
    clips = {source.name for source, _ in finder.library.list_files()}
    cases = [case for case in read_cases(path) if case.clip in clips]
    things = {(case.clip, case.name, case.frame): case.things for case in cases}
    wanted = {(case.clip, case.name): case.words for case in cases}
    answers: dict[str, dict[str, Answer]] = {}
    for word in sorted({word for words in wanted.values() for word in words}):
        found = finder.find(word, len(finder.segments))
        answers[word] = {answer.name: answer for answer in found if answer.words}
    tally: Counter[str] = Counter()
    area = 0.0
    for (clip, name), words in wanted.items():
        hits = [answers[word][clip] for word in words if clip in answers[word]]
        hit = max(hits, key=lambda each: each.words[0][1], default=None)
        there = None if hit is None else things.get((clip, name, round(hit.time)))
        if hit is None:
            tally["not found"] += 1
        elif there is None or hit.box is None:
            tally["in a frame without a known box"] += 1
        else:
            middle = [[(hit.box.left + hit.box.right) / 2, (hit.box.top + hit.box.bottom) / 2]]
            (on,) = are_on(np.array(middle), there).tolist()
            tally["on the thing" if on else "beside it"] += 1
            area += cover(there)
    told = tally["on the thing"] + tally["beside it"]
    listed = ", ".join(f"{count} {name}" for name, count in tally.items())
    print(f"{len(wanted)} things of clips: {listed}")
    if told:
        print(f"  on the thing: {tally['on the thing'] / told:.1%} of {told}, ", end="")
        print(f"chance, the area of things: {area / told:.1%}")


if __name__ == "__main__":
    main()
