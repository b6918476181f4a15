"""Sentences of a captioner: beam search, sampling, and the likelihood of given ones.

The sentences of a beam differ in a word or two. Drawn ones differ in what they tell, and the
captioner's own doubts say how much: where it is sure of a clip, it draws the same again and again.

A clip's sentences begin alike, and each is read under all sequences. So sequences are encoded once,
and sentences are read as one tree of beginnings, word by word: each beginning once a sequence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from densevidcap.data.text import Vocabulary
from densevidcap.errors import ModelError
from densevidcap.models.captioner import CaptionModel
from densevidcap.models.device import widest_float
from densevidcap.models.streams import Streams

ROWS = 64
"""Region-sequences searched at once: enough for the speed of large products, and the memory of
64 beams of 5 over 8,000 words stays at tens of MB."""


@dataclass(frozen=True)
class BeamOptions:
    """How sentences are searched."""

    width: int = 5
    """Beginnings that are kept at every word, and sentences at the end; 1 is greedy."""
    max_length: int = 20
    """Words of a sentence at most."""
    length_penalty: float = 0.7
    """Every word makes a sentence less likely. Its score is its log-probability divided by its
    length (with `<eos>`) to this power: 0 leaves that in favour of short ones, 1 is the mean."""
    no_repeat_ngram: int = 3
    """No run of that many words comes twice in a sentence; 0 allows it."""

    def __post_init__(self) -> None:
        if min(self.width, self.max_length) < 1:
            raise ModelError("width and max_length must be at least 1")
        if min(self.length_penalty, self.no_repeat_ngram) < 0:
            raise ModelError("length_penalty and no_repeat_ngram must be 0 or more")


@dataclass(frozen=True)
class Sentence:
    words: tuple[int, ...]
    """Numbers in the vocabulary, without signs."""
    log_probability: float
    """log P(sentence | streams), its end included: the model's own, whatever was forbidden."""
    score: float
    """The log-probability after the length penalty."""
    draws: int = 0
    """How often it was drawn; 0 for one that was searched."""


@torch.inference_mode()
def search(
    captioner: CaptionModel, streams: Streams, options: BeamOptions | None = None
) -> list[list[Sentence]]:
    """The sentences of each region-sequence, the best first; they all differ.

    The captioner should be in evaluation mode.
    """
    found: list[list[Sentence]] = []
    for start in range(0, len(streams), ROWS):
        part = streams.select(slice(start, start + ROWS))
        found += _search(captioner, part, options or BeamOptions())
    return found


def _search(
    captioner: CaptionModel, streams: Streams, options: BeamOptions
) -> list[list[Sentence]]:
    device = streams.lengths.device
    beams = _Beams(len(streams), options, device)
    said = torch.full((len(streams),), Vocabulary.BOS, device=device)
    state = captioner.encode(streams)
    while len(said):
        log_probabilities, state = captioner.step(state, said)
        said, origins = beams.extend(log_probabilities)
        state = state.select(origins)
    return beams.sentences()


class _Beams:
    """The best sentences and beginnings of N rows: B = N * width beams, those of a row together.

    Sentences that have ended stay and compete by their score. The M beams that
    have not ended are live: only they take part in the captioner's next step.
    """

    def __init__(self, rows: int, options: BeamOptions, device: torch.device) -> None:
        self.options = options
        beams = rows * options.width
        self.live = torch.arange(0, beams, options.width, device=device)
        self.words = torch.empty(beams, 0, dtype=torch.long, device=device)
        self.lengths = torch.ones(beams, device=device)
        self.totals = torch.full((beams,), -torch.inf, dtype=widest_float(device), device=device)
        self.totals[self.live] = 0

    def extend(self, log_probabilities: Tensor) -> tuple[Tensor, Tensor]:
        """Let the next words compete, given their log-probabilities (M, V) after each live beam.

        Returns the last words of the beams that are live now, and which of the
        beams that were live before each of them continues.
        """
        width, beams = self.options.width, len(self.totals)
        self._forbid(log_probabilities)
        # No row can keep more than `width` words after one and the same beginning.
        best = log_probabilities.topk(min(width, log_probabilities.shape[1]))
        totals = self.totals.new_full((beams, best.values.shape[1]), -torch.inf)
        words = torch.full_like(totals, Vocabulary.PAD, dtype=torch.long)
        totals[:, 0] = self.totals
        totals[self.live] = self.totals[self.live, None] + best.values
        words[self.live] = best.indices
        self.lengths[self.live] = self.words.shape[1] + 1.0

        scores = self._penalise(totals, self.lengths[:, None]).view(-1, width * totals.shape[1])
        first = torch.arange(len(scores), device=scores.device)[:, None] * scores.shape[1]
        chosen = (first + scores.topk(width).indices).flatten()
        parents = chosen // totals.shape[1]
        said = words.flatten()[chosen]
        self.words = torch.cat([self.words[parents], said[:, None]], dim=1)
        self.lengths = self.lengths[parents]
        self.totals = totals.flatten()[chosen]

        places = torch.zeros_like(parents)
        places[self.live] = torch.arange(len(self.live), device=places.device)
        ended = (said == Vocabulary.EOS) | (said == Vocabulary.PAD)
        self.live = (~ended & self.totals.isfinite()).nonzero()[:, 0]
        return said[self.live], places[parents[self.live]]

    def sentences(self) -> list[list[Sentence]]:
        """Of each row, the best first."""
        scores = self._penalise(self.totals, self.lengths)
        found = [
            Sentence(tuple(words[: int(length) - 1]), total, penalised)
            for words, length, total, penalised in zip(
                self.words.tolist(),
                self.lengths.tolist(),
                self.totals.tolist(),
                scores.tolist(),
                strict=True,
            )
        ]
        width = self.options.width
        rows = (found[start : start + width] for start in range(0, len(found), width))
        # A vocabulary of a few words may not have `width` sentences.
        return [[one for one in row if one.log_probability > -torch.inf] for row in rows]

    def _penalise(self, totals: Tensor, lengths: Tensor) -> Tensor:
        return totals / lengths**self.options.length_penalty

    def _forbid(self, log_probabilities: Tensor) -> None:
        """Rule out what may not come next: signs, an end too early or too late, repetitions."""
        words = self.words[self.live]
        if words.shape[1] == self.options.max_length:
            log_probabilities[:, : Vocabulary.EOS] = -torch.inf
            log_probabilities[:, Vocabulary.EOS + 1 :] = -torch.inf
            return
        log_probabilities[:, [Vocabulary.PAD, Vocabulary.BOS, Vocabulary.UNK]] = -torch.inf
        if words.shape[1] == 0:
            log_probabilities[:, Vocabulary.EOS] = -torch.inf
        beams, repeated = find_repeats(words, self.options.no_repeat_ngram)
        log_probabilities[beams, repeated] = -torch.inf


def find_repeats(words: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Pairs of a row of the words (M, L) and a word that would end an n-gram it already has."""
    length = words.shape[1]
    if not 0 < n <= length:
        return words.new_empty(0), words.new_empty(0)
    ngrams = words.unfold(1, n, 1)
    begun = words[:, None, length - n + 1 :]
    rows, places = (ngrams[..., :-1] == begun).all(-1).nonzero(as_tuple=True)
    return rows, ngrams[rows, places, -1]


@dataclass(frozen=True)
class SampleOptions:
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
    captioner: CaptionModel, streams: Streams, options: SampleOptions | None = None
) -> list[list[Sentence]]:
    """The different sentences drawn for each region-sequence, the most probable first."""
    options = options or SampleOptions()
    random = torch.Generator("cpu").manual_seed(options.seed)
    found: list[list[Sentence]] = []
    for start in range(0, len(streams), ROWS):
        part = streams.select(slice(start, start + ROWS))
        found += _draw(captioner, part, options, random)
    return found


def _draw(
    captioner: CaptionModel, streams: Streams, options: SampleOptions, random: torch.Generator
) -> list[list[Sentence]]:
    device = streams.lengths.device
    rows = torch.arange(len(streams), device=device).repeat_interleave(options.count)
    state = captioner.encode(streams).select(rows)
    live = torch.arange(len(rows), device=device)
    said = torch.full((len(rows),), Vocabulary.BOS, device=device)
    words = torch.full((len(rows), options.max_length + 1), Vocabulary.EOS, device=device)
    totals = torch.zeros(len(rows), dtype=widest_float(device), device=device)
    for place in range(options.max_length + 1):
        log_probabilities, state = captioner.step(state, said)
        allowed = log_probabilities / options.temperature
        allowed[:, [Vocabulary.PAD, Vocabulary.BOS, Vocabulary.UNK]] = -torch.inf
        if place == 0:
            allowed[:, Vocabulary.EOS] = -torch.inf
        repeats = find_repeats(words[live, :place], options.no_repeat_ngram)
        allowed[repeats] = -torch.inf
        if place == options.max_length:
            said = torch.full((len(live),), Vocabulary.EOS, device=device)
        else:
            # Drawn on the CPU, whose generator gives the same numbers everywhere.
            drawn = torch.multinomial(allowed.softmax(-1).cpu(), 1, generator=random)
            said = drawn[:, 0].to(device)
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


@torch.inference_mode()
def compare(
    captioner: CaptionModel, streams: Streams, sentences: Sequence[Sequence[int]]
) -> Tensor:
    """(S, K): log P(sentence | streams) of S sentences, numbers without signs, and K sequences."""
    K = len(streams)
    endings = [(*words, Vocabulary.EOS) for words in sentences]
    device = streams.lengths.device
    totals = torch.zeros(len(endings), K, dtype=widest_float(device), device=device)
    said = torch.full((K,), Vocabulary.BOS, device=device)
    state = captioner.encode(streams)
    # Sentences by their common beginning, whose K rows lie together in the state.
    groups = [list(range(len(endings)))]
    depth = 0
    while groups:
        log_probabilities, state = captioner.step(state, said)
        following: list[list[int]] = []
        parents: list[int] = []
        words: list[int] = []
        for parent, group in enumerate(groups):
            own = log_probabilities[parent * K : (parent + 1) * K]
            for word, going_on in _split(group, endings, depth).items():
                totals[going_on] += own[:, word]
                if word != Vocabulary.EOS:
                    following.append(going_on)
                    parents.append(parent)
                    words.append(word)
        begun = torch.tensor(parents, dtype=torch.long, device=device)
        rows = begun[:, None] * K + torch.arange(K, device=device)
        state = state.select(rows.flatten())
        said = torch.tensor(words, dtype=torch.long, device=device).repeat_interleave(K)
        groups, depth = following, depth + 1
    return totals


def _split(
    group: Sequence[int], endings: Sequence[tuple[int, ...]], depth: int
) -> dict[int, list[int]]:
    """The sentences of a group by their word at that depth."""
    split: dict[int, list[int]] = {}
    for sentence in group:
        split.setdefault(endings[sentence][depth], []).append(sentence)
    return split
