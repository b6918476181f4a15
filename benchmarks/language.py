"""Sentences of ten region-sequences: all beams at once against one by one, for the same words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from benchmarks.regions import measure
from densevidcap.config import CaptionerConfig, DecodingConfig
from densevidcap.data.text import Vocabulary
from densevidcap.decoding.generate import search
from densevidcap.models.captioner import CaptionModel, StreamWidths
from densevidcap.models.decoders import State
from densevidcap.models.fusion import Streams

SEQUENCES, FRAMES, WORDS, FEATURES = 10, 8, 8000, 1280
BEAMS = DecodingConfig(beam=5, max_length=20, no_repeat_ngram=0)
ROUNDS = 5


def run() -> None:
    captioner, streams = make_captioner(), make_streams()
    ways = (search_at_once, search_by_sequence, search_by_beam)
    assert len({str(way(captioner, streams)) for way in ways}) == 1
    # In turns, so that whatever else the machine does slows all alike.
    rounds = [[measure(partial(way, captioner, streams)) for way in ways] for _ in range(ROUNDS)]
    seconds = np.min(rounds, axis=0)
    print(
        f"{SEQUENCES} sequences of {FRAMES} frames, beam {BEAMS.beam}, {BEAMS.max_length} "
        f"words of {WORDS:,}, bi-directional S2VT with {captioner.config.hidden} units:"
    )
    for way, (elapsed, of_cpu) in zip(ways, seconds, strict=True):
        name, times = way.__name__.replace("_", " "), elapsed / seconds[0, 0]
        print(f"  {name}: {elapsed:.2f} s, {of_cpu:.2f} s of CPU, {times:.1f} times as long")


def make_captioner() -> CaptionModel:
    """Untrained, so that no sentence ends before its last word: the longest search there is."""
    torch.manual_seed(0)
    vocabulary = Vocabulary(
        f"word{number}" for number in range(WORDS - len(Vocabulary.SPECIAL_TOKENS))
    )
    captioner = CaptionModel(vocabulary, CaptionerConfig(), StreamWidths({"regions": FEATURES}))
    # Words that differ clearly, lest rounding decides between equals.
    torch.nn.init.normal_(captioner.words.weight, std=0.3)
    return captioner.eval()


def make_streams() -> Streams:
    regions = torch.rand(SEQUENCES, FRAMES, FEATURES)
    return Streams({"regions": regions}, {}, torch.full((SEQUENCES,), FRAMES))


def search_at_once(captioner: CaptionModel, streams: Streams) -> list[list[tuple[int, ...]]]:
    return [[one.ids for one in found] for found in search(captioner, streams, BEAMS)]


def search_by_sequence(captioner: CaptionModel, streams: Streams) -> list[list[tuple[int, ...]]]:
    rows = [streams.select(slice(row, row + 1)) for row in range(SEQUENCES)]
    return [found for row in rows for found in search_at_once(captioner, row)]


class Beam(NamedTuple):
    score: float
    total: float
    words: tuple[int, ...]
    state: State


@torch.inference_mode()
def search_by_beam(captioner: CaptionModel, streams: Streams) -> list[list[tuple[int, ...]]]:
    """The literal search: one beginning of one sequence at a time."""
    found = []
    for row in range(SEQUENCES):
        state = captioner.encode(streams.select(slice(row, row + 1)), BEAMS.max_length + 1)
        beams = [Beam(0.0, 0.0, (Vocabulary.BOS,), state)]
        for _ in range(BEAMS.max_length + 1):
            candidates = [longer for beam in beams for longer in extend(captioner, beam)]
            beams = sorted(candidates, key=lambda beam: -beam.score)[: BEAMS.beam]
        found.append([beam.words[1:-1] for beam in beams])
    return found


def extend(captioner: CaptionModel, beam: Beam) -> Iterator[Beam]:
    """The beam with each of the best words after it, or as it is if it has ended."""
    last, length = beam.words[-1], len(beam.words)
    if last == Vocabulary.EOS:
        yield beam
        return
    log_probabilities, state = captioner.step(beam.state, torch.tensor([last]))
    allowed = torch.full((WORDS,), length <= BEAMS.max_length)
    allowed[[Vocabulary.PAD, Vocabulary.BOS, Vocabulary.UNK]] = False
    allowed[Vocabulary.EOS] = length > 1
    best = log_probabilities[0].where(allowed, -torch.inf).topk(BEAMS.beam)
    for log_probability, word in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        total = beam.total + log_probability
        yield Beam(total / length**BEAMS.length_penalty, total, (*beam.words, word), state)
