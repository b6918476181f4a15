"""The evaluator that is solved for, and not trained: a regression of what people would say."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from densevidcap.config import ModelConfig
from densevidcap.errors import ModelError
from densevidcap.metrics.retrieval import area_under_curve, rank_clips, recall, split_own
from densevidcap.model_folder import WEIGHTS
from densevidcap.models.evaluator_regression import RegressionEvaluator, describe_look
from densevidcap.progress import Progress, describe_metrics
from densevidcap.train.evaluator import EvaluatorStage
from densevidcap.train.stage import ViewStage, hold_run


def choose_stage(
    out: Path,
    config: ModelConfig,
    manifest: Path,
    words: Path,
    cache: Path,
    *,
    weaker: Path | None = None,
    **more: Any,
) -> EvaluatorStage | RegressionStage:
    """For the kind of evaluator that the config asks for."""
    if config.evaluator.kind == "network":
        return EvaluatorStage(out, config, manifest, words, cache, weaker=weaker, **more)
    if weaker is not None:
        raise ModelError(
            f"{weaker}: a regression learns from people's sentences alone; "
            "leave out --weaker, or set evaluator.kind to network"
        )
    inputs = {"manifest": manifest, "words": words / WEIGHTS}
    return RegressionStage(out, config, inputs, cache, **more)


class RegressionStage(ViewStage):
    """Solving for an evaluator."""

    name = "evaluator"

    def list_settings(self) -> dict[str, Any]:
        return {**super().list_settings(), "evaluator": asdict(self.config.evaluator)}

    def run(self, progress: Progress) -> str:
        self.claim()
        with hold_run(self.out):
            self.read_views(progress)
            advance = progress.count("solving for what people would say")
            self.evaluator = RegressionEvaluator.fit(
                [describe_look(self.views.view(record.id)) for record in self.trained],
                [record.captions for record in self.trained],
                self.config.evaluator,
            )
            metrics = {"epoch": 1, **self._measure()}
            advance()
            self.evaluator.save(self.out, self.describe([metrics]), self.half)
        return describe_metrics(metrics)

    def _measure(self) -> dict[str, float]:
        """In percent: captions of held-out clips that find theirs, and the area under the curve."""
        if len(self.held_out) < 2:
            return {}
        captions = [caption for record in self.held_out for caption in record.captions]
        counts = [len(record.captions) for record in self.held_out]
        owners = np.repeat(np.arange(len(counts)), counts)
        views = [self.views.view(record.id) for record in self.held_out]
        scores = self.evaluator.score_clips(views, captions)
        auc = 100 * area_under_curve(*split_own(scores, owners))
        return {**recall(rank_clips(scores, owners), "clip"), "auc": auc}
