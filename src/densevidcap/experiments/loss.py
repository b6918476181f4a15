"""How fast Lexical-FCNs of different backbones learn (the paper's figure of training losses)."""

from __future__ import annotations

from densevidcap.artefacts import read_card
from densevidcap.experiments.bench import Bench
from densevidcap.experiments.definition import Experiment
from densevidcap.experiments.results import Curve, Line, Outcome, Picture, Table


def compare_losses(bench: Bench, experiment: Experiment) -> Outcome:
    """The training loss by epoch."""
    curves, lines = [], []
    for row in experiment.rows:
        history = read_card(bench.find_words(row.system))["history"]
        epochs = tuple(float(entry["epoch"]) for entry in history)
        curves.append(Curve(row.name, epochs, tuple(entry["loss"] for entry in history)))
        last = history[-1]
        lines.append(Line(row.name, (last["loss"], last["map_frequent"])))
    table = Table("After the last epoch", ("training loss", "mean AP"), tuple(lines))
    picture = Picture("loss", "Training loss of the Lexical-FCN", "epoch", "loss", tuple(curves))
    return Outcome((table,), (), (picture,))
