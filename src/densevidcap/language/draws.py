"""Sentences drawn at random by their probability: more different ones than beams find.

The sentences of a beam differ in a word or two. Drawn ones differ in what they tell, and the
captioner's own doubts say how much: where it is sure of a clip, it draws the same again and again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import torch

from densevidcap.data.text import Vocabulary
from densevidcap.errors import ModelError
from densevidcap.language.beams import ROWS, Sentence, find_repeats
from densevidcap.language.captioner import Captioner
from densevidcap.language.streams import Streams


@dataclass(frozen=True)
class DrawOptions:
    """How sentences are drawn."""

    count: int = 10
    """Of each region-sequence; equal ones are kept once, with how often they came."""
    temperature: float = 0.7
    """Below 1 the probable words become more so; 1 is the captioner's own distribution."""
    max_length: int = 20
    length_penalty: float = 0.7
    """As for beams."""
    no_repeat_ngram: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.count, self.max_length) < 1:
            raise ModelError("count and max_length must be at least 1")
        if not self.temperature > 0:
            raise ModelError(f"temperature must be above 0, not {self.temperature}")


@torch.inference_mode()
def draw(
    captioner: Captioner, streams: Streams, options: DrawOptions | None = None
) -> list[list[Sentence]]:
    """The different sentences drawn for each region-sequence, the most probable first."""
    options = options or DrawOptions()
    random = torch.Generator().manual_seed(options.seed)
    found: list[list[Sentence]] = []
    for start in range(0, len(streams), ROWS):
        part = streams.select(slice(start, start + ROWS))
        found += _draw(captioner, part, options, random)
    return found


def _draw(
    captioner: Captioner, streams: Streams, options: DrawOptions, random: torch.Generator
) -> list[list[Sentence]]:
    rows = torch.arange(len(streams)).repeat_interleave(options.count)
    state = captioner.encode(streams).select(rows)
    live = torch.arange(len(rows))
    said = torch.full((len(rows),), Vocabulary.BOS)
    words = torch.full((len(rows), options.max_length + 1), Vocabulary.EOS)
    totals = torch.zeros(len(rows), dtype=torch.float64)
    for place in range(options.max_length + 1):
        log_probabilities, state = captioner.step(state, said)
        allowed = log_probabilities / options.temperature
        allowed[:, [Vocabulary.PAD, Vocabulary.BOS, Vocabulary.UNK]] = -torch.inf
        if place == 0:
            allowed[:, Vocabulary.EOS] = -torch.inf
        repeats = find_repeats(words[live, :place], options.no_repeat_ngram)
        allowed[repeats] = -torch.inf
        if place == options.max_length:
            said = torch.full((len(live),), Vocabulary.EOS)
        else:
            said = torch.multinomial(allowed.softmax(-1), 1, generator=random)[:, 0]
        totals[live] += log_probabilities.gather(1, said[:, None])[:, 0]
        words[live, place] = said
        going = (said != Vocabulary.EOS).nonzero()[:, 0]
        live, said, state = live[going], said[going], state.select(going)
        if not len(live):
            break
    draws = [Counter[tuple[int, ...]]() for _ in range(len(streams))]
    found: list[dict[tuple[int, ...], Sentence]] = [{} for _ in draws]
    for row, numbers, total in zip(rows.tolist(), words.tolist(), totals.tolist(), strict=True):
        own = tuple(numbers[: numbers.index(Vocabulary.EOS)])
        draws[row][own] += 1
        score = total / (len(own) + 1) ** options.length_penalty
        found[row][own] = Sentence(own, total, score, draws[row][own])
    return [sorted(each.values(), key=lambda one: -one.score) for each in found]
