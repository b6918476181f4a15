"""What diversity costs: ten sentences by several weights of it, beside the null and people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from densevidcap.evaluation.dense import PAPER_METRICS, DenseScores
from densevidcap.evaluation.null import diversity_at_equal_cider
from densevidcap.evaluation.report import DenseReport
from densevidcap.experiments.results import Curve, Figures, Line, Picture, Table
from densevidcap.experiments.single import COLUMNS

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
