"""Which words a Lexical-FCN finds in a clip (Sec. 4.2)."""

from __future__ import annotations

import numpy as np

from densevidcap.experiments.bench import Bench
from densevidcap.experiments.definition import Experiment, Row
from densevidcap.experiments.results import Line, Table
from densevidcap.lexical.fcn import LexicalFCN
from densevidcap.lexical.measures import detect


def compare_detection(bench: Bench, experiment: Experiment) -> Table:
    """Among the words whose probabilities captioners get, by each row's Lexical-FCN."""
    first: dict[str, Row] = {}
    for row in experiment.rows:
        if row.words:
            first.setdefault(row.words, row)
    lines = []
    for row in first.values():
        words = bench.find_words(row.words)
        views = bench.view(bench.find_captioner(row.system, row.words), words).values()
        lexicon = LexicalFCN.load(words).lexicon
        labels = np.stack([lexicon.label(record.captions) for record in bench.clips])
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
