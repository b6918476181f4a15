"""Sampled sentences: what they are made of, how probable they are, and that a seed repeats them."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.plain_scores import score
from tests.models.small_captioners import KINDS, Kind, make_captioner, make_streams
from torch import Tensor

from densevidcap.config import DecodingConfig
from densevidcap.data.text import Vocabulary
from densevidcap.decoding.generate import draw, sample, search, tell
from densevidcap.errors import ModelError
from densevidcap.models.decoders import State


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(KINDS))
def test_drawn_sentences_are_whole_and_different(seed: int, kind: Kind) -> None:
    captioner, streams = make_captioner(kind, seed=seed), make_streams([2, 3, 1], seed=seed)
    options = DecodingConfig(samples=6, max_length=5, seed=seed)
    for sentences in sample(captioner, streams, options):
        assert 1 <= len(sentences) <= 6
        assert len({one.ids for one in sentences}) == len(sentences)
        assert sentences == sorted(sentences, key=lambda one: -one.score)
        assert sum(one.samples for one in sentences) == 6
        for one in sentences:
            assert 1 <= len(one.ids) <= 5
            assert min(one.ids) >= len(Vocabulary.SPECIAL_TOKENS)
            length = (len(one.ids) + 1) ** options.length_penalty
            assert one.score == pytest.approx(one.log_probability / length)


def test_a_drawn_sentence_knows_its_probability() -> None:
    captioner, streams = make_captioner(), make_streams([2, 3])
    for row, sentences in enumerate(
        sample(captioner, streams, DecodingConfig(samples=10, max_length=6))
    ):
        alone = streams.select(torch.full((len(sentences),), row))
        known = score(captioner, alone, [one.ids for one in sentences])
        drawn = torch.tensor([one.log_probability for one in sentences], dtype=known.dtype)
        torch.testing.assert_close(drawn, known)


def test_the_same_seed_draws_the_same() -> None:
    captioner, streams = make_captioner(), make_streams([2, 3])
    first, again, other = (
        sample(captioner, streams, DecodingConfig(samples=20, temperature=1.0, seed=seed))
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_sentences_are_drawn_as_often_as_they_are_probable() -> None:
    captioner = make_captioner(vocabulary=Vocabulary(["dog", "cat"]))
    streams = make_streams([2])
    options = {"max_length": 1, "temperature": 1.0, "no_repeat_ngram": 0}
    counts: Counter[tuple[int, ...]] = Counter()
    for seed in range(300):
        (found,) = sample(captioner, streams, DecodingConfig(samples=1, seed=seed, **options))  # type: ignore[arg-type]
        counts[found[0].ids] += 1
    first = captioner.step(captioner.encode(streams, 1), torch.tensor([Vocabulary.BOS]))[0]
    allowed = first[0, len(Vocabulary.SPECIAL_TOKENS) :].softmax(0)
    shares = [counts[(len(Vocabulary.SPECIAL_TOKENS) + word,)] / 300 for word in range(2)]
    assert shares == pytest.approx(allowed.tolist(), abs=0.1)


def test_cold_draws_are_what_a_beam_of_one_finds() -> None:
    captioner, streams = make_captioner(), make_streams([2, 3, 2])
    cold = DecodingConfig(samples=3, temperature=1e-4, max_length=6, no_repeat_ngram=0)
    beams = DecodingConfig(beam=1, max_length=6, no_repeat_ngram=0)
    drawn = [[one.ids for one in row] for row in sample(captioner, streams, cold)]
    assert drawn == [[one.ids for one in row] for row in search(captioner, streams, beams)]


def test_no_samples_are_no_sentences() -> None:
    assert sample(make_captioner(), make_streams([2, 3]), DecodingConfig(samples=0)) == [[], []]


@pytest.mark.parametrize("wrong", [{"samples": -1}, {"max_length": 0}, {"temperature": 0.0}])
def test_impossible_draws_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ModelError):
        DecodingConfig(**wrong)  # type: ignore[arg-type]


def test_what_begins_alike_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each sequence: the beginnings of its different sentences, each by itself."""
    captioner, streams = make_captioner(), make_streams([2, 3])
    rows: list[int] = []

    def step(state: State, words: Tensor) -> tuple[Tensor, State]:
        rows.append(len(words))
        return whole(state, words)

    whole = captioner.step
    monkeypatch.setattr(captioner, "step", step)
    found = sample(captioner, streams, DecodingConfig(samples=30, max_length=3))
    for depth, count in enumerate(rows):
        ids = [{one.ids[:depth] for one in each if len(one.ids) >= depth} for each in found]
        assert count == sum(map(len, ids))
    assert rows[0] == 2


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 40), st.floats(0.1, 20))
def test_draws_are_those_of_multinomial(seed: int, rows: int, words: int, spread: float) -> None:
    """Also where a word cannot come, or nothing else can; and as many numbers are taken."""
    noise = torch.randn(rows, words, generator=torch.Generator().manual_seed(seed))
    noise[:, 1::3] = -torch.inf
    chances = (spread * noise).softmax(-1)
    ours, theirs = (torch.Generator().manual_seed(seed) for _ in range(2))
    drawn = draw(chances, ours)
    assert drawn.equal(torch.multinomial(chances, 1, generator=theirs)[:, 0])
    assert ours.get_state().equal(theirs.get_state())


def test_the_only_word_is_drawn_however_long_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    largest = torch.full((1, 3), 1 - 2**-53, dtype=torch.float64)
    monkeypatch.setattr(torch, "rand", lambda *_, **__: largest)
    assert draw(torch.tensor([[0.0, 0.0, 1.0]]), torch.Generator()).tolist() == [2]


@settings(max_examples=20)
@given(
    st.integers(0, 10_000),
    st.sampled_from(KINDS),
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
    st.data(),
)
def test_both_at_once_are_each_by_itself(
    seed: int, kind: Kind, lengths: list[int], data: st.DataObject
) -> None:
    captioner, streams = make_captioner(kind, seed=seed), make_streams(lengths, seed=seed)
    config = DecodingConfig(beam=3, samples=4, max_length=4, seed=seed)
    count = data.draw(st.integers(0, len(lengths)))
    told = tell(captioner, streams, config, samples_of=count)
    searched = search(captioner, streams, config)
    sampled = sample(captioner, streams.select(slice(count)), config) if count else []
    ids = [[[one.ids for one in each] for each in both] for both in told]
    expected = zip(searched, sampled + [[]] * (len(lengths) - count), strict=True)
    assert ids == [[[one.ids for one in each] for each in both] for both in expected]
