"""What Lexical-FCNs find (Sec. 4.2), and how fast they learn it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from densevidcap.metrics.bootstrap import draw_videos
from densevidcap.metrics.detection import count_detected
from densevidcap.model_folder import read_card
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.repro.claims import Array, Resampled, measure_claims
from densevidcap.repro.definition import Claim, Experiment, Row
from densevidcap.repro.results import Curve, Line, Outcome, Picture, Table
from densevidcap.repro.runner import Runner

DETECTION = "Word detection in a clip"
DETECTED = ("precision at .5", "recall at .5", "of its k words in the top k")


PLACES = ("the best region of its sequences", "all regions by noisy-OR")
"""Where a word may be found."""


class Detected(NamedTuple):
    table: Table
    lines: dict[str, Resampled]


def list_detectors(rows: Sequence[Row]) -> list[Row]:
    """The first row of each Lexical-FCN that rows name."""
    first: dict[str, Row] = {}
    for row in rows:
        if row.words:
            first.setdefault(row.words, row)
    return list(first.values())


def name_place(row: Row, place: str) -> str:
    """A line of the table."""
    return f"{row.name}: {place}"


def compare_detection(runner: Runner, rows: Sequence[Row], draws: Array) -> Detected:
    """Among the words whose probabilities captioners get, by each row's Lexical-FCN.

    The paper detects a word from a probability of .5 on and does not say what its percentages are
    of. Losses that differ in how sure they make a detector cannot be compared at one threshold, so
    the verdict is by the last column, where each clip's own threshold lets as many words pass as
    its captions have: precision and recall are then the same.
    """
    lines, drawn = [], {}
    for row in list_detectors(rows):
        words = runner.find_words(row.words)
        (captioner, *_) = runner.find_captioners(row)
        views = runner.view(captioner, words).values()
        lexicon = LexicalFCN.load(words).lexicon
        labels = np.stack([lexicon.label(record.captions) for record in runner.clips])
        best = [view.sequence_words.max(axis=0) for view in views]
        for place, scores in zip(PLACES, (best, [view.clip_words for view in views]), strict=True):
            probabilities = np.stack(scores).astype(np.float32)
            known = labels[:, : probabilities.shape[1]]
            counted = count_detected(probabilities, known)
            name = name_place(row, place)
            figures = 100 * counted.rate(np.ones((1, len(known))))
            drawn[name] = Resampled(DETECTED, figures[0], 100 * counted.rate(draws))
            lines.append(Line(name, tuple(figures[0].tolist())))
    return Detected(Table(DETECTION, DETECTED, tuple(lines)), drawn)


LOSSES = "After the last epoch"
LEARNED = "of the learned clips, without dropout"
"""Eq. 1 of what training ended in: a mean over clips, so that it has an interval."""


def compare_losses(runner: Runner, experiment: Experiment, claims: Sequence[Claim]) -> Outcome:
    """The training loss by epoch, and what is left of it at the end, clip by clip."""
    curves, lines, tested = [], [], {}
    for row in experiment.rows:
        if lack := runner.find_lack(replace(row, words=row.system)):
            runner.lacks[row.name] = lack
            runner.progress.say(f"not run: {row.name}: {lack}")
            lines.append(Line(row.name))
            continue
        folder = runner.find_words(row.system)
        history = read_card(folder)["history"]
        epochs = tuple(float(entry["epoch"]) for entry in history)
        curves.append(Curve(row.name, epochs, tuple(entry["loss"] for entry in history)))
        losses = runner.measure_losses(row.system).astype(float)
        drawn = draw_videos(len(losses)) @ losses[:, None] / len(losses)
        tested[row.name] = Resampled((LEARNED,), losses.mean(keepdims=True), drawn)
        last = history[-1]
        lines.append(Line(row.name, (last["loss"], float(losses.mean()), last["map_frequent"])))
    table = Table(LOSSES, ("training loss", LEARNED, "mean AP"), tuple(lines))
    picture = Picture("loss", "Training loss of the Lexical-FCN", "epoch", "loss", tuple(curves))
    return Outcome((table,), measure_claims(claims, {LOSSES: tested}), (picture,))
