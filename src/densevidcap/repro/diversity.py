"""How different sentences are (Sec. 4.3.2): those of people and those of the given model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from densevidcap.data.lsa import DIMENSIONS, LatentSpace
from densevidcap.data.manifest import ClipRecord, read_manifest
from densevidcap.errors import CorpusError, ModelError
from densevidcap.metrics.bootstrap import draw_videos
from densevidcap.metrics.captions import CaptionScorer
from densevidcap.metrics.dense import (
    OTHER_CLIPS,
    PAPER_METRICS,
    TOPS,
    DenseScores,
    Ranked,
    diversity_at_equal_cider,
    fill,
    mix_other_clips,
    score_dense,
)
from densevidcap.metrics.diversity import cluster, diversity
from densevidcap.metrics.report import DenseReport, measure_density
from densevidcap.repro.candidates import find_candidates
from densevidcap.repro.claims import Resampled, measure_claims
from densevidcap.repro.definition import Claim, Experiment
from densevidcap.repro.results import Curve, Figures, Line, Outcome, Picture, Table
from densevidcap.repro.runner import Runner
from densevidcap.repro.single import COLUMNS
from densevidcap.train.stage import HELD_OUT

CLUSTERS = tuple(range(2, 11))


PAPERS = 5
"""The number that gives the highest diversity, says the paper."""
D_DIV = "D_div"
NULL = "the null of eight strangers"
"""A line for claims: each clip's first sentence, and as many of other clips as can be."""
FIVE, ANY_OTHER = f"{PAPERS} clusters", "any other number"
"""Lines for claims: the paper's number of clusters, and what stands beside it in each column."""
OTHERS = tuple(f"{count} clusters" for count in CLUSTERS if count != PAPERS)


@dataclass(frozen=True)
class People:
    """Of held-out clips, in the latent space of the training captions."""

    space: LatentSpace
    of_clips: Mapping[str, float]
    """D_div of all captions of each clip."""
    clustered_of: Mapping[int, Mapping[str, float]]
    """By how many clusters: D_div of their centres in each clip."""

    @property
    def everything(self) -> float:
        return _mean(self.of_clips)

    @property
    def clustered(self) -> dict[int, float]:
        return {count: _mean(of_clips) for count, of_clips in self.clustered_of.items()}


def read_captions(manifest: Path) -> tuple[list[str], list[ClipRecord]]:
    """Of training clips, and the held-out clips."""
    records = [record for record in read_manifest(manifest) if record.captions]
    trained = [text for record in records if record.split == "train" for text in record.captions]
    held_out = [record for record in records if record.split in HELD_OUT]
    if not trained or not held_out:
        raise CorpusError(f"{manifest}: needs captions of split 'train' and of 'validate'")
    return trained, held_out


def measure_people(
    trained: Sequence[str],
    clips: Sequence[ClipRecord],
    dimensions: int,
    advance: Callable[[], None],
) -> People:
    space = LatentSpace.fit(trained, dimensions)
    placed = {clip.id: space.embed(clip.captions) for clip in clips}
    clustered = {}
    for count in CLUSTERS:
        clustered[count] = {
            clip: diversity(cluster(vectors, count, seed))
            for seed, (clip, vectors) in enumerate(placed.items())
        }
        advance()
    everything = {clip: diversity(vectors) for clip, vectors in placed.items()}
    return People(space, everything, clustered)


def _mean(of_clips: Mapping[str, float]) -> float:
    return float(np.mean([*of_clips.values()]))


PRICES = (
    *("different", "D_div", "null's D_div", *(f"{column} of 5" for column in COLUMNS)),
    *("CIDEr of 10", "best of 10", "right", "said", "found"),
)

Turned = Mapping[float, DenseScores]
"""By the weight of diversity."""


def tabulate_prices(turned: Turned, report: DenseReport) -> Table:
    rows = {f"weight {weight:g}": scores for weight, scores in turned.items()}
    rows |= {f"null, {count} strangers": scores for count, scores in report.null.items()}
    if report.human is not None:
        rows["human"] = report.human
    null = list(report.null.values())
    lines = tuple(Line(name, _list_prices(scores, null)) for name, scores in rows.items())
    return Table("Ten sentences a clip", PRICES, lines, digits=2)


def _list_prices(scores: DenseScores, null: Sequence[DenseScores]) -> Figures:
    return (
        scores.different,
        scores.diversity,
        diversity_at_equal_cider(scores, null),
        *(100 * scores.precision[min(scores.precision)][metric] for metric in PAPER_METRICS),
        _cider_of_all(scores),
        100 * scores.best["CIDEr"],
        scores.content.precision,
        scores.content.said,
        scores.content.found,
    )


def draw_prices(turned: Turned, report: DenseReport) -> tuple[Picture, Picture]:
    """D_div and coverage against quality."""

    def draw(name: str, title: str, label: str, height: Callable[[DenseScores], float]) -> Picture:
        curves = {
            "ours, by weight of diversity": [*turned.values()],
            "null, by strangers": [*report.null.values()],
        }
        if report.human is not None:
            curves["human"] = [report.human]
        return Picture(
            name,
            title,
            "CIDEr of ten sentences",
            label,
            tuple(
                Curve(curve, tuple(map(_cider_of_all, points)), tuple(map(height, points)))
                for curve, points in curves.items()
            ),
        )

    return (
        draw("diversity-price", "What diversity costs", "D_div", lambda each: each.diversity),
        draw(
            "coverage-price",
            "What coverage costs",
            "content words found",
            lambda each: each.content.found,
        ),
    )


def _cider_of_all(scores: DenseScores) -> float:
    return 100 * scores.precision[max(scores.precision)]["CIDEr"]


SYSTEMS = ("captions", "clusters", "model")
"""All captions of people, their most diverse clusters, and what the given model says."""
TRIED = (5, 8, DIMENSIONS, 12, 20, 50)
"""Dimensions of the latent space; the paper does not say its own."""
WEIGHTS = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
"""Of diversity, in the choice of sentences; the given model's own comes to these."""


def compare_diversity(runner: Runner, experiment: Experiment, claims: Sequence[Claim]) -> Outcome:
    """D_div of people and of the model, and its price as the weight of diversity turns."""
    for row in experiment.rows:
        if row.system not in SYSTEMS:
            raise ModelError(f"{experiment.name}: '{row.name}' is none of {', '.join(SYSTEMS)}")
    trained, clips = read_captions(runner.paths.captions)
    advance = runner.progress.count("clustering human captions", len(TRIED) * len(CLUSTERS))
    by_dimensions = {count: measure_people(trained, clips, count, advance) for count in TRIED}
    people = by_dimensions[DIMENSIONS]
    own, chosen = _choose(runner)
    advance = runner.progress.count("scoring", len(chosen) + 1)
    with CaptionScorer(runner.references) as scorer:
        report = measure_density(chosen[own], scorer, people.space)
        advance()
        turned = {}
        for weight, ranked in chosen.items():
            turned[weight] = score_dense(ranked, scorer, people.space, report.count)
            advance()
    figures = (people.everything, max(people.clustered.values()), report.predicted.diversity)
    found = dict(zip(SYSTEMS, figures, strict=True))
    lines = _draw_systems_again(experiment, people, chosen[own]) | _draw_clusters_again(people)
    return Outcome(
        (
            _tabulate_systems(experiment, found),
            _tabulate_clusters(by_dimensions),
            tabulate_prices(turned, report),
        ),
        measure_claims(claims, {"": lines}),
        (
            _draw_clusters(people),
            _draw_systems(experiment, found),
            *draw_prices(turned, report),
        ),
    )


def _draw_systems_again(
    experiment: Experiment, people: People, said: Ranked
) -> dict[str, Resampled]:
    """D_div of each row, on the clips of which people's and the model's sentences are known."""
    clips = [clip for clip in said if clip in people.of_clips]
    if not clips:
        return {}
    count = min(max(TOPS), max(len(said[clip]) for clip in clips))
    best = max(people.clustered, key=lambda number: people.clustered[number])
    of_systems: dict[str, Mapping[str, float]] = {
        "captions": people.of_clips,
        "clusters": people.clustered_of[best],
        "model": _measure(said, clips, count, people.space),
    }
    lines = {row.name: of_systems[row.system] for row in experiment.rows}
    first = {clip: said[clip][0] for clip in clips}
    lines[NULL] = _measure(
        mix_other_clips(first, min(max(OTHER_CLIPS), count - 1), count), clips, count, people.space
    )
    return {
        name: _draw_again((D_DIV,), [[of_clips[clip] for clip in clips]])
        for name, of_clips in lines.items()
    }


def _measure(
    said: Ranked, clips: Sequence[str], count: int, space: LatentSpace
) -> dict[str, float]:
    """D_div of so many sentences of each clip."""
    return {clip: diversity(space.embed(fill(said[clip], count))) for clip in clips}


def _draw_clusters_again(people: People) -> dict[str, Resampled]:
    """The paper's number of clusters beside every other."""
    values = {count: [*of_clips.values()] for count, of_clips in people.clustered_of.items()}
    others = [values[count] for count in CLUSTERS if count != PAPERS]
    return {
        FIVE: _draw_again(OTHERS, [values[PAPERS]] * len(others)),
        ANY_OTHER: _draw_again(OTHERS, others),
    }


def _draw_again(columns: tuple[str, ...], values: Sequence[Sequence[float]]) -> Resampled:
    """Means over clips of values (C, B)."""
    array = np.array(values).T
    draws = draw_videos(len(array)) @ array / len(array)
    return Resampled(columns, array.mean(axis=0), draws)


def _choose(runner: Runner) -> tuple[float, dict[float, Ranked]]:
    """The model's weight of diversity, and ten sentences a clip by each weight."""
    clips = find_candidates(runner)
    own = next(iter(clips.values())).selection.diversity
    return own, {
        weight: {
            clip: found.choose(k=10, diversity=weight).sentences for clip, found in clips.items()
        }
        for weight in sorted({*WEIGHTS, own})
    }


def _tabulate_systems(experiment: Experiment, found: Mapping[str, float]) -> Table:
    lines = tuple(Line(row.name, (found[row.system],), row.paper) for row in experiment.rows)
    return Table("", (D_DIV,), lines, digits=3)


def _tabulate_clusters(by_dimensions: Mapping[int, People]) -> Table:
    people = by_dimensions[DIMENSIONS]
    lines = tuple(
        Line(f"{count} dimensions", (each.everything, *each.clustered.values()))
        for count, each in by_dimensions.items()
    )
    title = f"Human captions of {len(people.of_clips):,} clips: all, and centres of clusters"
    return Table(title, ("all", *map(str, people.clustered)), lines, digits=3)


def _draw_clusters(people: People) -> Picture:
    """The paper's figure (a)."""
    counts = tuple(map(float, people.clustered))
    return Picture(
        "diversity-clusters",
        "Human captions",
        "clusters",
        "D_div",
        (
            Curve("centres of clusters", counts, tuple(people.clustered.values())),
            Curve("all captions", counts, (people.everything,) * len(counts)),
        ),
    )


def _draw_systems(experiment: Experiment, found: Mapping[str, float]) -> Picture:
    """The paper's figure (b), beside its own values."""
    places = tuple(map(float, range(len(experiment.rows))))
    return Picture(
        "diversity-systems",
        "Diversity of captions",
        "",
        "D_div",
        (
            Curve("ours", places, tuple(found[row.system] for row in experiment.rows)),
            Curve("paper", *_list_printed(experiment)),
        ),
        tuple(row.name for row in experiment.rows),
    )


def _list_printed(experiment: Experiment) -> tuple[Figures, Figures]:
    """Paths and figures of the rows that the paper has."""
    rows = [(float(place), row.paper) for place, row in enumerate(experiment.rows) if row.paper]
    return tuple(place for place, _ in rows), tuple(paper[0] for _, paper in rows)
