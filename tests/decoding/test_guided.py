"""Guided decoding: words that cost, and words that must come."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.plain_scores import score
from tests.models.small_captioners import KINDS, Kind, make_captioner, make_streams

from densevidcap.config import DecodingConfig
from densevidcap.data.text import Vocabulary
from densevidcap.decoding.generate import Guidance, sample, search

OPTIONS = DecodingConfig(beam=4, samples=6, max_length=8)
FIRST = len(Vocabulary.SPECIAL_TOKENS)
seeds = st.integers(0, 10_000)


@settings(max_examples=15)
@given(seed=seeds, kind=st.sampled_from(KINDS))
def test_what_costs_nothing_changes_nothing(seed: int, kind: Kind) -> None:
    captioner, streams = make_captioner(kind, seed=seed), make_streams([2, 3], seed=seed)
    free = Guidance(torch.zeros(2, len(captioner.vocabulary)))
    for decode in (search, sample):
        plain, guided = (decode(captioner, streams, OPTIONS, each) for each in (None, free))
        assert [[one.ids for one in row] for row in plain] == [
            [one.ids for one in row] for row in guided
        ]


@settings(max_examples=15)
@given(seed=seeds, kind=st.sampled_from(KINDS))
def test_a_score_has_the_costs_and_the_log_probability_has_not(seed: int, kind: Kind) -> None:
    captioner, streams = make_captioner(kind, seed=seed), make_streams([2, 3], seed=seed)
    costs = -torch.rand(2, len(captioner.vocabulary), generator=torch.Generator().manual_seed(seed))
    costs[:, Vocabulary.EOS] = 0
    for decode in (search, sample):
        for row, found in enumerate(decode(captioner, streams, OPTIONS, Guidance(costs))):
            for one in found:
                own = float(score(captioner, streams.select(torch.tensor([row])), [one.ids]))
                assert one.log_probability == pytest.approx(own, abs=1e-4)
                total = one.log_probability + float(costs[row, list(one.ids)].sum())
                penalty = (len(one.ids) + 1) ** OPTIONS.length_penalty
                assert one.score == pytest.approx(total / penalty, abs=1e-4)


@settings(max_examples=15)
@given(seed=seeds, kind=st.sampled_from(KINDS))
def test_what_costs_too_much_is_never_said(seed: int, kind: Kind) -> None:
    captioner, streams = make_captioner(kind, seed=seed), make_streams([2, 3], seed=seed)
    free = search(captioner, streams, OPTIONS)
    dear = free[0][0].ids[0]
    costs = torch.zeros(2, len(captioner.vocabulary))
    costs[0, dear] = -1e4
    for decode in (search, sample):
        found = decode(captioner, streams, OPTIONS, Guidance(costs))
        assert not any(dear in one.ids for one in found[0])
    assert [one.ids for one in search(captioner, streams, OPTIONS, Guidance(costs))[1]] == [
        one.ids for one in free[1]
    ]


@settings(max_examples=15)
@given(seed=seeds, kind=st.sampled_from(KINDS))
def test_a_wanted_word_is_said(seed: int, kind: Kind) -> None:
    captioner, streams = make_captioner(kind, seed=seed), make_streams([2, 3, 1], seed=seed)
    size = len(captioner.vocabulary)
    wanted = torch.zeros(3, size, dtype=torch.bool)
    words = [FIRST + (seed + row) % (size - FIRST) for row in range(3)]
    wanted[range(3), words] = True
    found = search(captioner, streams, OPTIONS, Guidance(torch.zeros(3, size), wanted))
    for row, (word, hypotheses) in enumerate(zip(words, found, strict=True)):
        for one in hypotheses:
            assert word in one.ids
            own = float(score(captioner, streams.select(torch.tensor([row])), [one.ids]))
            assert one.log_probability == pytest.approx(own, abs=1e-4)


def test_a_word_that_was_nearly_said_is_said_when_it_is_wanted() -> None:
    captioner, streams = make_captioner(), make_streams([3])
    best, *_ = search(captioner, streams, OPTIONS)[0]
    likely, _ = captioner.step(captioner.encode(streams, 1), torch.tensor([Vocabulary.BOS]))
    order = likely[0].argsort(descending=True).tolist()
    word = next(word for word in order if word >= FIRST and word not in best.ids)
    wanted = torch.zeros(1, len(captioner.vocabulary), dtype=torch.bool)
    wanted[0, word] = True
    costs = torch.zeros(1, len(captioner.vocabulary))
    (found,) = search(captioner, streams, OPTIONS, Guidance(costs, wanted))
    assert found
    assert all(word in one.ids for one in found)


def test_of_several_wanted_words_one_is_enough() -> None:
    captioner, streams = make_captioner(), make_streams([3])
    size = len(captioner.vocabulary)
    free = search(captioner, streams, OPTIONS)[0]
    wanted = torch.zeros(1, size, dtype=torch.bool)
    wanted[0, [free[0].ids[0], FIRST]] = True
    (found,) = search(captioner, streams, OPTIONS, Guidance(torch.zeros(1, size), wanted))
    assert all({free[0].ids[0], FIRST} & set(one.ids) for one in found)
    assert found[0].ids[0] == free[0].ids[0]
