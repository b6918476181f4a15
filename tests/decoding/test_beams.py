"""Beam search: against greedy steps, against every sentence there is, and against itself."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.plain_scores import score
from tests.models.small_captioners import KINDS, Kind, make_captioner, make_streams

from densevidcap.config import DecodingConfig
from densevidcap.data.text import Vocabulary
from densevidcap.decoding.generate import ROWS, find_repeats, search
from densevidcap.errors import ModelError
from densevidcap.models.captioner import CaptionModel
from densevidcap.models.fusion import Streams

seeds = st.integers(0, 10_000)
lengths_of_rows = st.lists(st.integers(1, 4), min_size=1, max_size=5)


def say_greedily(captioner: CaptionModel, streams: Streams, max_length: int) -> tuple[int, ...]:
    """The likeliest word, again and again, of one row."""
    state, word, words = captioner.encode(streams, max_length), Vocabulary.BOS, list[int]()
    while len(words) < max_length:
        log_probabilities, state = captioner.step(state, torch.tensor([word]))
        log_probabilities[:, [Vocabulary.PAD, Vocabulary.BOS, Vocabulary.UNK]] = -torch.inf
        if not words:
            log_probabilities[:, Vocabulary.EOS] = -torch.inf
        word = int(log_probabilities.argmax())
        if word == Vocabulary.EOS:
            break
        words.append(word)
    return tuple(words)


@settings(max_examples=20)
@given(seed=seeds, kind=st.sampled_from(KINDS), lengths=lengths_of_rows)
def test_a_beam_of_one_is_greedy(seed: int, kind: Kind, lengths: list[int]) -> None:
    captioner, streams = make_captioner(kind, seed=seed), make_streams(lengths, seed=seed)
    options = DecodingConfig(beam=1, max_length=8, no_repeat_ngram=0)
    for row, found in enumerate(search(captioner, streams, options)):
        alone = streams.select(torch.tensor([row]))
        assert [one.ids for one in found] == [say_greedily(captioner, alone, 8)]


@settings(max_examples=20)
@given(seed=seeds, kind=st.sampled_from(KINDS), lengths=lengths_of_rows, width=st.integers(1, 6))
def test_rows_searched_together_are_as_searched_alone(
    seed: int, kind: Kind, lengths: list[int], width: int
) -> None:
    captioner, streams = make_captioner(kind, seed=seed), make_streams(lengths, seed=seed)
    options = DecodingConfig(beam=width, max_length=8)
    for row, together in enumerate(search(captioner, streams, options)):
        (alone,) = search(captioner, streams.select(torch.tensor([row])), options)
        assert [one.ids for one in together] == [one.ids for one in alone]
        assert [one.score for one in together] == pytest.approx([one.score for one in alone])


@settings(max_examples=10)
@given(seed=seeds, penalty=st.sampled_from([0.0, 0.7, 1.0]))
def test_a_beam_wide_enough_finds_every_sentence_in_order(seed: int, penalty: float) -> None:
    captioner = make_captioner(vocabulary=Vocabulary(["dog", "runs"]), seed=seed)
    streams = make_streams([3], seed=seed)
    everything = [words for n in (1, 2, 3) for words in product((4, 5), repeat=n)]
    options = DecodingConfig(beam=20, max_length=3, length_penalty=penalty, no_repeat_ngram=0)
    (found,) = search(captioner, streams, options)
    many = streams.select(torch.zeros(len(everything), dtype=torch.long))
    log_probabilities = dict(
        zip(everything, score(captioner, many, everything).tolist(), strict=True)
    )
    ranked = sorted(
        everything, key=lambda words: -log_probabilities[words] / (len(words) + 1) ** penalty
    )
    assert [one.ids for one in found] == ranked
    for one in found:
        assert one.log_probability == pytest.approx(log_probabilities[one.ids])
        assert one.score == pytest.approx(one.log_probability / (len(one.ids) + 1) ** penalty)


@settings(max_examples=20)
@given(seed=seeds, n=st.integers(0, 3), max_length=st.integers(1, 9))
def test_sentences_are_whole_different_and_without_repetition(
    seed: int, n: int, max_length: int
) -> None:
    captioner, streams = make_captioner(seed=seed), make_streams([2, 4, 1], seed=seed)
    options = DecodingConfig(beam=4, max_length=max_length, no_repeat_ngram=n)
    for found in search(captioner, streams, options):
        assert len({one.ids for one in found}) == 4
        assert all(first.score >= second.score for first, second in pairwise(found))
        for words in (one.ids for one in found):
            assert 1 <= len(words) <= max_length
            assert min(words) >= len(Vocabulary.SPECIAL_TOKENS)
            if n:
                ngrams = [words[start : start + n] for start in range(len(words) - n + 1)]
                assert len(ngrams) == len(set(ngrams))


def test_sentences_score_what_the_search_found() -> None:
    """Also where there are more rows than one part of a search takes."""
    captioner, streams = make_captioner(), make_streams([2, 4, 1, 3, 3] * (ROWS // 4))
    best = [found[0] for found in search(captioner, streams, DecodingConfig(beam=2, max_length=5))]
    scores = score(captioner, streams, [one.ids for one in best])
    assert scores.tolist() == pytest.approx([one.log_probability for one in best])


def test_repeats_are_words_that_end_a_known_ngram() -> None:
    words = torch.tensor([[7, 8, 7, 9, 7], [7, 8, 9, 8, 9]])

    def pairs(n: int) -> set[tuple[int, ...]]:
        return {tuple(pair) for pair in torch.stack(find_repeats(words, n), 1).tolist()}

    assert pairs(0) == set()
    assert pairs(1) == {(0, 7), (0, 8), (0, 9), (1, 7), (1, 8), (1, 9)}
    assert pairs(2) == {(0, 8), (0, 9), (1, 8)}
    assert pairs(3) == {(1, 8)}
    assert pairs(6) == set()


@pytest.mark.parametrize(
    "options", [{"beam": 0}, {"max_length": 0}, {"length_penalty": -1.0}, {"no_repeat_ngram": -1}]
)
def test_impossible_searches_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ModelError, match=next(iter(options))):
        DecodingConfig(**options)
