"""How different sentences are (Sec. 4.3.2), and what that is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from densevidcap.data.lsa import Array, LatentSpace
from densevidcap.data.manifest import read_manifest
from densevidcap.errors import ModelError
from densevidcap.evaluation.captions import CaptionScorer
from densevidcap.evaluation.dense import PAPER_METRICS, DenseScores, Ranked, score_dense
from densevidcap.evaluation.diversity import cluster, diversity
from densevidcap.evaluation.null import diversity_at_equal_cider
from densevidcap.evaluation.report import DenseReport, measure_density
from densevidcap.experiments.bench import Bench
from densevidcap.experiments.candidates import find_candidates
from densevidcap.experiments.definition import Experiment
from densevidcap.experiments.results import Curve, Finding, Line, Outcome, Picture, Table
from densevidcap.experiments.single import COLUMNS
from densevidcap.fits import HELD_OUT
from densevidcap.language.choosing import ChoiceOptions

CLUSTERS = tuple(range(2, 11))
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
"""Of diversity, in the choice of sentences."""
PRICES = (
    *("different", "D_div", "null's D_div", *(f"{column} of 5" for column in COLUMNS)),
    *("CIDEr of 10", "best of 10", "right", "said", "found"),
)


def compare_diversity(bench: Bench, experiment: Experiment) -> Outcome:
    """D_div of people and of the given model, and its price as the weight of diversity turns."""
    bench.watcher.start("clustering human captions", len(CLUSTERS))
    space, people = _place_captions(bench)
    clustered = {}
    for count in CLUSTERS:
        centres = [cluster(vectors, count, seed) for seed, vectors in enumerate(people)]
        clustered[count] = _mean(centres)
        bench.watcher.advance()
    chosen = _choose(bench)
    bench.watcher.start("scoring", len(WEIGHTS) + 1)
    with CaptionScorer(bench.references) as scorer:
        report = measure_density(chosen[ChoiceOptions().diversity], scorer, space)
        bench.watcher.advance()
        turned = {}
        for weight, ranked in chosen.items():
            turned[weight] = score_dense(ranked, scorer, space)
            bench.watcher.advance()
    found = {
        "captions": _mean(people),
        "clusters": max(clustered.values()),
        "model": report.predicted.diversity,
    }
    return Outcome(
        (
            _tabulate_systems(experiment, found),
            _tabulate_clusters(clustered, len(people)),
            _tabulate_prices(turned, report),
        ),
        tuple(Finding(claim.better, claim.worse) for claim in experiment.claims),
        (
            _draw_clusters(clustered, found["captions"]),
            _draw_systems(experiment, found),
            *_draw_prices(turned, report),
        ),
    )


def _place_captions(bench: Bench) -> tuple[LatentSpace, list[Array]]:
    """The space of the training captions, and each held-out clip's captions in it (S, D)."""
    records = [record for record in read_manifest(bench.places.captions) if record.captions]
    space = LatentSpace.fit(
        caption for record in records if record.split == "train" for caption in record.captions
    )
    return space, [space.embed(record.captions) for record in records if record.split in HELD_OUT]


def _mean(clips: Sequence[Array]) -> float:
    return float(np.mean([diversity(vectors) for vectors in clips]))


def _choose(bench: Bench) -> dict[float, Ranked]:
    """Ten sentences a clip by each weight of diversity."""
    clips = find_candidates(bench)
    chosen: dict[float, Ranked] = {}
    for weight in WEIGHTS:
        options = ChoiceOptions(diversity=weight)
        chosen[weight] = {
            clip: [found.sentences[place] for place in found.choose(options)]
            for clip, found in clips.items()
        }
    return chosen


def _tabulate_systems(experiment: Experiment, found: Mapping[str, float]) -> Table:
    for row in experiment.rows:
        if row.system not in found:
            raise ModelError(
                f"{experiment.name}: '{row.name}' may be {', '.join(found)}, not '{row.system}'"
            )
    lines = tuple(Line(row.name, (found[row.system],), row.paper) for row in experiment.rows)
    return Table("", ("D_div",), lines, digits=3)


def _tabulate_clusters(clustered: Mapping[int, float], clips: int) -> Table:
    line = Line(f"captions of {clips:,} clips", tuple(clustered.values()))
    return Table("Centres of clusters", tuple(map(str, clustered)), (line,), digits=3)


def _tabulate_prices(turned: Mapping[float, DenseScores], report: DenseReport) -> Table:
    rows = {f"weight {weight:g}": scores for weight, scores in turned.items()}
    rows |= {f"null, {count} strangers": scores for count, scores in report.null.items()}
    if report.human is not None:
        rows["human"] = report.human
    null = list(report.null.values())
    lines = tuple(Line(name, _list_prices(scores, null)) for name, scores in rows.items())
    return Table("Ten sentences a clip", PRICES, lines, digits=2)


def _list_prices(scores: DenseScores, null: Sequence[DenseScores]) -> tuple[float, ...]:
    low, high = min(scores.precision), max(scores.precision)
    return (
        scores.different,
        scores.diversity,
        diversity_at_equal_cider(scores, null),
        *(100 * scores.precision[low][metric] for metric in PAPER_METRICS),
        100 * scores.precision[high]["CIDEr"],
        100 * scores.best["CIDEr"],
        scores.content.precision,
        scores.content.said,
        scores.content.found,
    )


def _draw_clusters(clustered: Mapping[int, float], everything: float) -> Picture:
    """The paper's figure (a)."""
    counts = tuple(map(float, clustered))
    return Picture(
        "diversity-clusters",
        "Human captions",
        "clusters",
        "D_div",
        (
            Curve("centres of clusters", counts, tuple(clustered.values())),
            Curve("all captions", counts, (everything,) * len(counts)),
        ),
    )


def _draw_systems(experiment: Experiment, found: Mapping[str, float]) -> Picture:
    """The paper's figure (b), with its own values."""
    places = tuple(map(float, range(len(experiment.rows))))
    return Picture(
        "diversity-systems",
        "Diversity of captions",
        "",
        "D_div",
        (
            Curve("ours", places, tuple(found[row.system] for row in experiment.rows)),
            Curve("paper", places, tuple(row.paper[0] for row in experiment.rows)),
        ),
        tuple(row.name for row in experiment.rows),
    )


def _draw_prices(
    turned: Mapping[float, DenseScores], report: DenseReport
) -> tuple[Picture, Picture]:
    """D_div and coverage against the quality that they cost."""
    curves = {"ours, by weight": [*turned.values()], "null, by strangers": [*report.null.values()]}
    if report.human is not None:
        curves["human"] = [report.human]

    def draw(name: str, title: str, label: str, height: Callable[[DenseScores], float]) -> Picture:
        lines = []
        for curve, points in curves.items():
            ciders = tuple(100 * each.precision[max(each.precision)]["CIDEr"] for each in points)
            lines.append(Curve(curve, ciders, tuple(map(height, points))))
        return Picture(name, title, "CIDEr of ten sentences", label, tuple(lines))

    return (
        draw("diversity-price", "Diversity", "D_div", lambda scores: scores.diversity),
        draw("coverage-price", "Coverage", "words found", lambda scores: scores.content.found),
    )
