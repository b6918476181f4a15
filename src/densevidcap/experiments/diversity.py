"""How different sentences are (Sec. 4.3.2): those of people and those of the given model."""

from __future__ import annotations

from collections.abc import Mapping

from densevidcap.data.lsa import DIMENSIONS
from densevidcap.errors import ModelError
from densevidcap.evaluation.captions import CaptionScorer
from densevidcap.evaluation.dense import Ranked, score_dense
from densevidcap.evaluation.report import measure_density
from densevidcap.experiments.bench import Bench
from densevidcap.experiments.candidates import find_candidates
from densevidcap.experiments.definition import Experiment
from densevidcap.experiments.people import CLUSTERS, People, measure_people, read_captions
from densevidcap.experiments.prices import draw_prices, tabulate_prices
from densevidcap.experiments.results import Curve, Figures, Finding, Line, Outcome, Picture, Table
from densevidcap.language.choosing import ChoiceOptions

SYSTEMS = ("captions", "clusters", "model")
"""All captions of people, their most diverse clusters, and what the given model says."""
TRIED = (5, 8, DIMENSIONS, 12, 20, 50)
"""Dimensions of the latent space; the paper does not say its own."""
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
"""Of diversity, in the choice of sentences."""


def compare_diversity(bench: Bench, experiment: Experiment) -> Outcome:
    """D_div of people and of the model, and its price as the weight of diversity turns."""
    for row in experiment.rows:
        if row.system not in SYSTEMS:
            raise ModelError(f"{experiment.name}: '{row.name}' is none of {', '.join(SYSTEMS)}")
    trained, clips = read_captions(bench.places.captions)
    bench.watcher.start("clustering human captions", len(TRIED) * len(CLUSTERS))
    by_dimensions = {
        count: measure_people(trained, clips, count, bench.watcher.advance) for count in TRIED
    }
    people = by_dimensions[DIMENSIONS]
    chosen = _choose(bench)
    bench.watcher.start("scoring", len(chosen) + 1)
    with CaptionScorer(bench.references) as scorer:
        report = measure_density(chosen[ChoiceOptions().diversity], scorer, people.space)
        bench.watcher.advance()
        turned = {}
        for weight, ranked in chosen.items():
            turned[weight] = score_dense(ranked, scorer, people.space)
            bench.watcher.advance()
    figures = (people.everything, max(people.clustered.values()), report.predicted.diversity)
    found = dict(zip(SYSTEMS, figures, strict=True))
    return Outcome(
        (
            _tabulate_systems(experiment, found),
            _tabulate_clusters(by_dimensions),
            tabulate_prices(turned, report),
        ),
        tuple(Finding(claim.better, claim.worse) for claim in experiment.claims),
        (
            _draw_clusters(people),
            _draw_systems(experiment, found),
            *draw_prices(turned, report),
        ),
    )


def _choose(bench: Bench) -> dict[float, Ranked]:
    """Ten sentences a clip by each weight of diversity."""
    clips = find_candidates(bench)
    return {
        weight: {
            clip: [found.sentences[place] for place in found.choose(ChoiceOptions(10, weight))]
            for clip, found in clips.items()
        }
        for weight in WEIGHTS
    }


def _tabulate_systems(experiment: Experiment, found: Mapping[str, float]) -> Table:
    lines = tuple(Line(row.name, (found[row.system],), row.paper) for row in experiment.rows)
    return Table("", ("D_div",), lines, digits=3)


def _tabulate_clusters(by_dimensions: Mapping[int, People]) -> Table:
    people = by_dimensions[DIMENSIONS]
    lines = tuple(
        Line(f"{count} dimensions", (each.everything, *each.clustered.values()))
        for count, each in by_dimensions.items()
    )
    title = f"Human captions of {people.clips:,} clips: all, and centres of clusters"
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
    """Places and figures of the rows that the paper has."""
    rows = [(float(place), row.paper) for place, row in enumerate(experiment.rows) if row.paper]
    return tuple(place for place, _ in rows), tuple(paper[0] for _, paper in rows)
