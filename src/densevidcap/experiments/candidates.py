"""All sentences that the given model finds for each measured clip, searched once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from densevidcap.artefacts import write_json
from densevidcap.data.text_files import read_json
from densevidcap.experiments.bench import Bench
from densevidcap.language.beams import BeamOptions
from densevidcap.language.choosing import ChoiceOptions, choose
from densevidcap.language.describer import Candidate, Describer
from densevidcap.language.draws import DrawOptions

DRAWS = DrawOptions(count=20)


@dataclass(frozen=True)
class Found:
    """The candidates of a clip."""

    searched: Sequence[Candidate]
    """By beams."""
    pool: Sequence[Candidate]
    """Drawn ones too."""


def find_candidates(bench: Bench, describer: Describer) -> dict[str, Found]:
    """Read from the folder of runs, or found and written there."""
    captioner = bench.captioner
    path = bench.keep("candidates", captioner)
    if not path.exists():
        views = bench.view(captioner, bench.find_words())
        bench.watcher.start("finding candidates", len(views))
        found = {}
        for clip, view in views.items():
            searched = describer.propose(view, BeamOptions())
            pool = describer.propose(view, BeamOptions(), DRAWS)
            found[clip] = [[_pack(each) for each in ones] for ones in (searched, pool)]
            bench.watcher.advance()
        write_json(path, found)
    return {
        clip: Found(*([_unpack(row) for row in rows] for rows in lists))
        for clip, lists in read_json(path).items()
    }


def choose_sentences(
    describer: Describer, candidates: Sequence[Candidate], options: ChoiceOptions
) -> list[Candidate]:
    """Those that are said of a clip, in order of choice."""
    quality, meanings = describer.rate(candidates), describer.place(candidates)
    texts = [describer.say(candidate.words) for candidate in candidates]
    nowhere = np.zeros((len(texts), 1))
    chosen = choose(texts, quality, meanings, nowhere, options)
    return [candidates[choice.place] for choice in chosen]


def _pack(candidate: Candidate) -> list[Any]:
    return [candidate.sequence, candidate.words, candidate.score, candidate.log_probability]


def _unpack(row: list[Any]) -> Candidate:
    sequence, words, score, log_probability = row
    return Candidate(sequence, tuple(words), score, log_probability)
