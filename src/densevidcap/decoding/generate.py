"""Sentences of a captioner: beam search, sampling, and the likelihood of given ones.

The sentences of a beam differ in a word or two. Sampled ones differ in what they tell, and the
captioner's own doubts say how much: where it is sure of a clip, it says the same again and again.
Both grow hypotheses word by word, in the same loop and under the same constraints; they differ in
which words go on.

A clip's sentences begin alike, and each is read under all sequences. So sequences are encoded once,
and sentences are read as one tree of beginnings, word by word: each beginning once a sequence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from densevidcap.config import DecodingConfig
from densevidcap.data.text import Vocabulary
from densevidcap.models.captioner import CaptionModel
from densevidcap.models.decoders import State
from densevidcap.models.device import widest_float
from densevidcap.models.fusion import Streams
from densevidcap.types import Hypothesis

ROWS = 64
"""Region-sequences decoded at once: enough for the speed of large products, and the memory of
64 beams of 5 over 8,000 words stays at tens of MB."""


URGENCY = 4.0
"""What a wanted word has before the others until it is said, in nats: enough to come at the first
place where it makes sense, too little to come where it makes none."""


@dataclass(frozen=True)
class Guidance:
    """What region-sequences show, as far as it decides the words of a sentence: N rows, V words."""

    costs: Tensor
    """(N, V), at most 0: added to log-probabilities; what is not seen is rather not said."""
    wanted: Tensor | None = None
    """(N, V): a searched sentence has one of these words at least. None: whatever it says."""

    def select(self, rows: slice) -> Guidance:
        return Guidance(self.costs[rows], None if self.wanted is None else self.wanted[rows])


def search(
    model: CaptionModel,
    streams: Streams,
    config: DecodingConfig,
    guidance: Guidance | None = None,
) -> list[list[Hypothesis]]:
    """The sentences of each region-sequence, the best first; they all differ.

    The model should be in evaluation mode.
    """
    return [searched for searched, _ in tell(model, streams, config, guidance, samples_of=0)]


def sample(
    model: CaptionModel,
    streams: Streams,
    config: DecodingConfig,
    guidance: Guidance | None = None,
) -> list[list[Hypothesis]]:
    """The different sentences sampled for each region-sequence, the most probable first."""
    return [sampled for _, sampled in tell(model, streams, config, guidance, searches=False)]


@torch.no_grad()
def tell(
    model: CaptionModel,
    streams: Streams,
    config: DecodingConfig,
    guidance: Guidance | None = None,
    searches: bool = True,
    samples_of: int | None = None,
) -> list[tuple[list[Hypothesis], list[Hypothesis]]]:
    """What is searched and what is sampled for each region-sequence, which is encoded once.

    Only of the first `samples_of` anything is sampled, if that is given.
    """
    device = streams.lengths.device
    found: list[tuple[list[Hypothesis], list[Hypothesis]]] = []
    sampled_rows = (len(streams) if samples_of is None else samples_of) if config.samples else 0
    # On the CPU, whose generator gives the same numbers everywhere.
    random = torch.Generator("cpu").manual_seed(config.seed)
    for start in range(0, len(streams), ROWS):
        rows = slice(start, start + ROWS)
        part, own = streams.select(rows), guidance and guidance.select(rows)
        state = model.encode(part, config.max_length + 1)
        count = max(0, min(len(part), sampled_rows - start))
        searched: list[list[Hypothesis]] = [[] for _ in range(len(part))]
        if searches:
            searched = _grow(model, state, _Beams(len(part), config, device, own))
        sampled = _grow(model, state, _Samples(count, config, device, own, random))
        found += zip(searched, sampled + [[]] * (len(part) - count), strict=True)
    return found


def _grow(model: CaptionModel, state: State, growing: _Growing) -> list[list[Hypothesis]]:
    """Sentences of the first of the state's rows, as many as are growing."""
    size = len(model.vocabulary)
    words, origins = torch.full_like(growing.live, Vocabulary.BOS), growing.owners[growing.live]
    while len(words):
        # What is sampled begins alike: hypotheses that are the same so far go on as one.
        codes = origins * size + words
        beginnings, places = codes.unique(return_inverse=True)  # type: ignore[no-untyped-call]
        state = state.select(beginnings // size)
        log_probabilities, state = model.step(state, beginnings % size)
        words, origins = growing.extend(log_probabilities, places)
        origins = places[origins]
    return growing.finish()


class _Growing(ABC):
    """B hypotheses, `each` of them for every row, those of a row together.

    The M that have not ended are live: only they take part in the model's next step.
    """

    def __init__(
        self,
        rows: int,
        each: int,
        config: DecodingConfig,
        device: torch.device,
        guidance: Guidance | None,
    ) -> None:
        self.rows, self.config, self.guidance = rows, config, guidance
        self.live = torch.arange(rows * each, device=device)
        self.owners = self.live // each
        self.words = self.live.new_empty(len(self.live), 0)
        self.lengths = torch.ones_like(self.live, dtype=torch.float32)
        self.totals = torch.zeros_like(self.live, dtype=widest_float(device))

    @abstractmethod
    def extend(self, log_probabilities: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Add a word, given the log-probabilities (U, V) of the next after U different beginnings.

        `places` (M,) tell the beginning of each live hypothesis. Returns the last words of those
        that are live now, and which of those that were live before each of them continues.
        """

    def guide(self, log_probabilities: Tensor, hypotheses: Tensor) -> Tensor:
        """The log-probabilities (N, V) with what guidance adds, and without what may not come.

        They are of the words after these hypotheses (N,).
        """
        if self.guidance is None:
            self.forbid(log_probabilities, hypotheses)
            return log_probabilities
        rows = self.owners[hypotheses]
        guided = log_probabilities + self.guidance.costs[rows]
        if self.guidance.wanted is not None:
            wanted = self.guidance.wanted[rows]
            is_due = ~wanted.gather(1, self.words[hypotheses]).any(1, keepdim=True)
            guided = torch.where(is_due & wanted, guided + URGENCY, guided)
            guided[is_due[:, 0], Vocabulary.EOS] = -torch.inf
        self.forbid(guided, hypotheses)
        return guided

    def forbid(self, log_probabilities: Tensor, hypotheses: Tensor) -> None:
        """Rule out what may not come next: special tokens, an end too early or late, repetitions.

        Log-probabilities of what is left stay as they are.
        """
        words = self.words[hypotheses]
        if words.shape[1] == self.config.max_length:
            log_probabilities[:, : Vocabulary.EOS] = -torch.inf
            log_probabilities[:, Vocabulary.EOS + 1 :] = -torch.inf
            return
        log_probabilities[:, [Vocabulary.PAD, Vocabulary.BOS, Vocabulary.UNK]] = -torch.inf
        if words.shape[1] == 0:
            log_probabilities[:, Vocabulary.EOS] = -torch.inf
        log_probabilities[find_repeats(words, self.config.no_repeat_ngram)] = -torch.inf

    def score(self, totals: Tensor, lengths: Tensor) -> Tensor:
        """Every word makes a sentence less likely: divide by its length, `<eos>` included."""
        return totals / lengths**self.config.length_penalty

    def list_hypotheses(self) -> list[Hypothesis]:
        if self.guidance is not None and self.guidance.wanted is not None:
            has = self.guidance.wanted[self.owners].gather(1, self.words).any(1)
            self.totals = torch.where(has, self.totals - URGENCY, -torch.inf)
        scores = self.score(self.totals, self.lengths)
        own = self.totals if self.guidance is None else self.totals - self._sum_costs()
        return [
            Hypothesis(tuple(words[: int(length) - 1]), total, score)
            for words, length, total, score in zip(
                self.words.tolist(),
                self.lengths.tolist(),
                own.tolist(),
                scores.tolist(),
                strict=True,
            )
        ]

    def _sum_costs(self) -> Tensor:
        assert self.guidance is not None
        costs = self.guidance.costs[self.owners].gather(1, self.words)
        places = torch.arange(self.words.shape[1], device=costs.device)
        return torch.where(places < self.lengths[:, None], costs, 0).sum(1)

    @abstractmethod
    def finish(self) -> list[list[Hypothesis]]:
        """Of each row, the best first."""


class _Beams(_Growing):
    """The best of each row. Those that have ended stay, and compete by their score."""

    def __init__(
        self, rows: int, config: DecodingConfig, device: torch.device, guidance: Guidance | None
    ) -> None:
        super().__init__(rows, config.beam, config, device, guidance)
        self.live = self.live[:: config.beam]
        self.totals.fill_(-torch.inf)
        self.totals[self.live] = 0

    def extend(self, log_probabilities: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        width, beams = self.config.beam, len(self.totals)
        log_probabilities = self.guide(log_probabilities[places], self.live)
        # No row can keep more than `width` words after one and the same beginning.
        best = log_probabilities.topk(min(width, log_probabilities.shape[1]))
        totals = self.totals.new_full((beams, best.values.shape[1]), -torch.inf)
        words = torch.full_like(totals, Vocabulary.PAD, dtype=torch.long)
        totals[:, 0] = self.totals
        totals[self.live] = self.totals[self.live, None] + best.values
        words[self.live] = best.indices
        self.lengths[self.live] = self.words.shape[1] + 1.0

        scores = self.score(totals, self.lengths[:, None]).view(-1, width * totals.shape[1])
        first = torch.arange(len(scores), device=scores.device)[:, None] * scores.shape[1]
        chosen = (first + scores.topk(width).indices).flatten()
        parents = chosen // totals.shape[1]
        said = words.flatten()[chosen]
        self.words = torch.cat([self.words[parents], said[:, None]], dim=1)
        self.lengths = self.lengths[parents]
        self.totals = totals.flatten()[chosen]

        before = torch.zeros_like(parents)
        before[self.live] = torch.arange(len(self.live), device=before.device)
        ended = (said == Vocabulary.EOS) | (said == Vocabulary.PAD)
        self.live = (~ended & self.totals.isfinite()).nonzero()[:, 0]
        return said[self.live], before[parents[self.live]]

    def finish(self) -> list[list[Hypothesis]]:
        found, width = self.list_hypotheses(), self.config.beam
        beams = (found[row * width : (row + 1) * width] for row in range(self.rows))
        # A vocabulary of a few words may not have `width` sentences.
        return [[one for one in beam if one.log_probability > -torch.inf] for beam in beams]


class _Samples(_Growing):
    """Words drawn at random, by the model's own probabilities at a temperature."""

    def __init__(
        self,
        rows: int,
        config: DecodingConfig,
        device: torch.device,
        guidance: Guidance | None,
        random: torch.Generator,
    ) -> None:
        # What is sampled shows what the captioner would say: nothing is wanted of it.
        unasked = guidance and Guidance(guidance.costs)
        super().__init__(rows, config.samples, config, device, unasked)
        self.random = random

    def extend(self, log_probabilities: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        # Those that are the same so far are guided as one: any of them stands for all.
        first = self.live.new_empty(len(log_probabilities))
        first[places] = self.live
        log_probabilities = self.guide(log_probabilities, first)
        if self.words.shape[1] == self.config.max_length:
            drawn = torch.full_like(self.live, Vocabulary.EOS)
        else:
            chances = (log_probabilities / self.config.temperature).softmax(-1).cpu()
            drawn = draw(chances[places.cpu()], self.random).to(self.live.device)
        self.totals[self.live] += log_probabilities[places, drawn]
        said = torch.full_like(self.owners, Vocabulary.PAD)
        said[self.live] = drawn
        self.words = torch.cat([self.words, said[:, None]], dim=1)
        self.lengths[self.live] = float(self.words.shape[1])
        going_on = (drawn != Vocabulary.EOS).nonzero()[:, 0]
        self.live = self.live[going_on]
        return drawn[going_on], going_on

    def finish(self) -> list[list[Hypothesis]]:
        found: list[dict[tuple[int, ...], Hypothesis]] = [{} for _ in range(self.rows)]
        for row, one in zip(self.owners.tolist(), self.list_hypotheses(), strict=True):
            known = found[row].get(one.ids)
            found[row][one.ids] = replace(one, samples=1 + (known.samples if known else 0))
        return [sorted(each.values(), key=lambda one: -one.score) for each in found]


def draw(chances: Tensor, random: torch.Generator) -> Tensor:
    """(M,): a word for each row, by the chances (M, V) of all; both on the CPU.

    Each word waits for a time that is the shorter on average the higher its chance, and the first
    to come is drawn. It is what `torch.multinomial` draws from the same numbers in three times
    the time: it takes the logarithm of one number after the other.
    """
    numbers = torch.rand(chances.shape, dtype=torch.float64, generator=random)
    # Just below 1, where 32 bits would round up to what has no logarithm.
    waits = numbers.float().clamp_(max=1 - 2**-24).neg_().log1p_().neg_()
    return torch.from_numpy((chances.float() / waits).numpy().argmax(1))


def find_repeats(words: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Pairs of a row of the words (M, L) and a word that would end an n-gram it already has."""
    length = words.shape[1]
    if not 0 < n <= length:
        return words.new_empty(0), words.new_empty(0)
    ngrams = words.unfold(1, n, 1)
    begun = words[:, None, length - n + 1 :]
    rows, starts = (ngrams[..., :-1] == begun).all(-1).nonzero(as_tuple=True)
    return rows, ngrams[rows, starts, -1]


@torch.no_grad()
def compare(model: CaptionModel, streams: Streams, sentences: Sequence[Sequence[int]]) -> Tensor:
    """(S, K): log P(sentence | streams) of S sentences, ids without special tokens, K sequences."""
    K = len(streams)
    endings = [(*ids, Vocabulary.EOS) for ids in sentences]
    device = streams.lengths.device
    totals = torch.zeros(len(endings), K, dtype=widest_float(device), device=device)
    steps = max((len(ids) for ids in endings), default=1)
    state, said = model.encode(streams, steps), torch.full((K,), Vocabulary.BOS, device=device)
    # Sentences by their common beginning, whose K rows lie together in the state.
    groups, sums = [list(range(len(endings)))], totals.new_zeros(1, K)
    depth = 0
    while groups:
        log_probabilities, state = model.step(state, said)
        longer = [
            (parent, word, going_on)
            for parent, group in enumerate(groups)
            for word, going_on in _split(group, endings, depth).items()
        ]
        parents = torch.tensor([parent for parent, *_ in longer], dtype=torch.long, device=device)
        words = torch.tensor([word for _, word, _ in longer], dtype=torch.long, device=device)
        rows = parents[:, None] * K + torch.arange(K, device=device)
        sums = sums[parents] + log_probabilities[rows, words[:, None]]
        for number, (_, word, group) in enumerate(longer):
            if word == Vocabulary.EOS:
                totals[group] = sums[number]
        is_going_on = words != Vocabulary.EOS
        sums, state = sums[is_going_on], state.select(rows[is_going_on].flatten())
        said = words[is_going_on].repeat_interleave(K)
        groups = [group for _, word, group in longer if word != Vocabulary.EOS]
        depth += 1
    return totals


def _split(
    group: Sequence[int], endings: Sequence[tuple[int, ...]], depth: int
) -> dict[int, list[int]]:
    """The sentences of a group by their word at that depth."""
    split: dict[int, list[int]] = {}
    for sentence in group:
        split.setdefault(endings[sentence][depth], []).append(sentence)
    return split
