"""What Lexical-FCNs find (Sec. 4.2), and how fast they learn it."""

from __future__ import annotations

import numpy as np

from densevidcap.metrics.detection import detect
from densevidcap.model_folder import read_card
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.repro.definition import Experiment, Row
from densevidcap.repro.results import Curve, Line, Outcome, Picture, Table
from densevidcap.repro.runner import Runner


def compare_detection(runner: Runner, experiment: Experiment) -> Table:
    """Among the words whose probabilities captioners get, by each row's Lexical-FCN."""
    first: dict[str, Row] = {}
    for row in experiment.rows:
        if row.words:
            first.setdefault(row.words, row)
    lines = []
    for row in first.values():
        words = runner.find_words(row.words)
        views = runner.view(runner.find_captioner(row.system, row.words), words).values()
        lexicon = LexicalFCN.load(words).lexicon
        labels = np.stack([lexicon.label(record.captions) for record in runner.clips])
        for place, scores in (
            ("the best region of its sequences", [v.sequence_words.max(axis=0) for v in views]),
            ("all regions by noisy-OR", [v.clip_words for v in views]),
        ):
            probabilities = np.stack(scores).astype(np.float32)
            found = detect(probabilities, labels[:, : probabilities.shape[1]])
            figures = (100 * found.precision, 100 * found.recall, 100 * found.top_k)
            lines.append(Line(f"{row.name}: {place}", figures))
    columns = ("precision at .5", "recall at .5", "of its k words in the top k")
    return Table("Word detection in a clip", columns, tuple(lines))


def compare_losses(runner: Runner, experiment: Experiment) -> Outcome:
    """The training loss by epoch."""
    curves, lines = [], []
    for row in experiment.rows:
        history = read_card(runner.find_words(row.system))["history"]
        epochs = tuple(float(entry["epoch"]) for entry in history)
        curves.append(Curve(row.name, epochs, tuple(entry["loss"] for entry in history)))
        last = history[-1]
        lines.append(Line(row.name, (last["loss"], last["map_frequent"])))
    table = Table("After the last epoch", ("training loss", "mean AP"), tuple(lines))
    picture = Picture("loss", "Training loss of the Lexical-FCN", "epoch", "loss", tuple(curves))
    return Outcome((table,), (), (picture,))
