"""Which sentence goes with which sequence."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.regions import literal
from tests.regions.clips import clips, make_clip

from densevidcap.config import AssociationConfig, RegionsConfig
from densevidcap.regions import associate, generate_sequences, match, pool_words
from densevidcap.regions.association import FLOOR, LEFT_OUT, Matches, spread
from densevidcap.regions.objectives import IndexArray
from densevidcap.types import FloatArray, FrameGrid

WINNER = AssociationConfig("winner", unsupported="first")
seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 12)


def match_sequences(sentences: list[IndexArray], clip: FrameGrid, k: int) -> Matches:
    sequences = generate_sequences(clip, RegionsConfig(k))
    return match(sentences, pool_words(sequences, clip), 0.1)


def draw_scores(seed: int, sentences: int, sequences: int) -> FloatArray:
    """In double precision: no two are so near that the order of summing could swap them."""
    return np.random.default_rng(seed).random((sentences, sequences))  # type: ignore[return-value]


@given(clips)
def test_sums_equal_the_transcription(clip: FrameGrid) -> None:
    sequences = generate_sequences(clip, RegionsConfig(k=3))
    sentences = [np.array([0, 2]), np.array([1, 3, 5]), np.array([], dtype=int)]
    matches = match(sentences, pool_words(sequences, clip), 0.1)
    expected = [
        [literal.f_inf(clip, [*enumerate(sequence.regions)], words) for sequence in sequences]
        for words in sentences
    ]
    np.testing.assert_allclose(matches.sums, expected, atol=1e-5)
    winners = associate(matches, WINNER)
    np.testing.assert_array_equal(winners, np.argmax(matches.sums, axis=1))
    np.testing.assert_array_equal(matches.supported, np.max(expected, axis=1) > 0)


@given(seeds, sizes)
def test_shares_equal_the_transcription(seed: int, sequences: int) -> None:
    rng = np.random.default_rng(seed)
    pooled, is_content = rng.random((sequences, 9), np.float32), rng.random(9) < 0.6
    sentences = [rng.choice(9, size, replace=False) for size in (0, 1, 4)]
    shares = match(sentences, pooled, 0.1, is_content).shares
    for words, found in zip(sentences, shares, strict=True):
        for sequence in range(sequences):
            raised = pooled + FLOOR
            parts = [raised[sequence, w] / raised[:, w].sum() for w in words if is_content[w]]
            assert found[sequence] == pytest.approx(sum(parts), rel=1e-5)


def test_of_a_word_that_no_sequence_shows_all_have_the_same_share() -> None:
    pooled = np.array([[1e-5, 0.3], [0.0, 0.1]], np.float32)
    shares = match([np.array([0]), np.array([0, 1])], pooled, 0.1).shares
    np.testing.assert_allclose(shares, [[0.5, 0.5], [1.24, 0.76]], atol=0.01)


def test_a_sentence_is_owned_by_the_sequence_that_shows_more_of_it_than_the_others() -> None:
    pooled = np.array([[0.5, 0.4, 0.0], [0.5, 0.1, 0.05]], np.float32)
    sentences = [np.array([0, 1]), np.array([2]), np.array([0, 2])]
    assert match(sentences, pooled, 0.1).own.tolist() == [0, LEFT_OUT, 1]


def test_a_word_below_the_threshold_counts_nothing() -> None:
    pooled = np.array([[0.09, 0.3, 0.1]], np.float32)
    sentences = [np.array([0]), np.array([0, 1, 2])]
    matches = match(sentences, pooled, 0.1)
    np.testing.assert_allclose(matches.sums[:, 0], [0, 0.4], atol=1e-6)
    assert matches.supported.tolist() == [False, True]
    assert associate(matches, WINNER).tolist() == [0, 0]
    assert match(sentences, pooled, 0.05).supported.all()
    np.testing.assert_allclose(match(sentences, pooled, 0.2).sums[:, 0], [0, 0.3], atol=1e-6)


@pytest.mark.parametrize("method", ["winner", "spread"])
def test_no_sentences_are_associated_with_nothing(method: Literal["winner", "spread"]) -> None:
    matches = match_sequences([], make_clip(0), k=2)
    assert associate(matches, AssociationConfig(method)).shape == (0,)


SHOWN = np.array([[0.9, 0.2, 0], [0, 0, 0], [0.1, 0.3, 0], [0, 0, 0], [0, 0, 0]], np.float32)
"""Sums of five sentences, of which no sequence shows the second and the last two."""
FAINT = np.array([[0.6, 0.3, 0.1], [0, 0, 1], [0, 1, 0], [0, 1, 0], [0, 0.5, 0.4]], np.float32)
"""Their shares."""


@pytest.mark.parametrize(
    ("method", "unsupported", "expected"),
    [
        ("winner", "first", [0, 0, 1, 0, 0]),
        ("winner", "leave_out", [0, LEFT_OUT, 1, LEFT_OUT, LEFT_OUT]),
        ("winner", "spread", [0, 2, 1, 1, 0]),
        ("spread", "first", [0, 0, 1, 0, 0]),
        ("spread", "leave_out", [0, LEFT_OUT, 1, LEFT_OUT, LEFT_OUT]),
    ],
)
def test_sentences_that_no_sequence_shows_go_where_the_setting_says(
    method: Literal["winner", "spread"],
    unsupported: Literal["first", "leave_out", "spread"],
    expected: list[int],
) -> None:
    matches = Matches(SHOWN, FAINT)
    config = AssociationConfig(method, most=1, unsupported=unsupported)
    assert associate(matches, config).tolist() == expected


@given(seeds, sizes, sizes, st.integers(1, 3))
def test_spread_sentences_are_all_spread_together(
    seed: int, sentences: int, sequences: int, most: int
) -> None:
    shares = draw_scores(seed, sentences, sequences)
    shown = np.random.default_rng(seed).random((sentences, 1)) < 0.5
    matches = Matches(np.where(shown, shares, 0), shares)
    config = AssociationConfig("spread", most, "spread")
    np.testing.assert_array_equal(associate(matches, config), spread(shares, most))


@given(seeds, st.integers(0, 25), sizes, st.integers(1, 5))
def test_each_sentence_gets_a_sequence_and_none_more_than_it_must(
    seed: int, sentences: int, sequences: int, most: int
) -> None:
    pairs = spread(draw_scores(seed, sentences, sequences), most)
    assert pairs.shape == (sentences,)
    assert ((pairs >= 0) & (pairs < sequences)).all()
    needed = -(-sentences // sequences)
    assert np.bincount(pairs, minlength=sequences).max() <= max(most, needed)


@given(seeds, sizes, sizes, st.integers(1, 3), st.data())
def test_the_order_of_sentences_and_sequences_changes_nothing(
    seed: int, sentences: int, sequences: int, most: int, data: st.DataObject
) -> None:
    scores = draw_scores(seed, sentences, sequences)
    rows = data.draw(st.permutations(range(sentences)))
    columns = data.draw(st.permutations(range(sequences)))
    shuffled = spread(scores[np.ix_(rows, columns)], most)
    np.testing.assert_array_equal(np.array(columns)[shuffled], spread(scores, most)[rows])


@given(seeds, st.integers(2, 12), st.integers(2, 12))
def test_neither_long_sentences_nor_rich_sequences_win_for_that_alone(
    seed: int, sentences: int, sequences: int
) -> None:
    scores = draw_scores(seed, sentences, sequences)
    longer = np.random.default_rng(seed + 1).random((sentences, 1))
    richer = np.random.default_rng(seed + 2).random((1, sequences))
    favoured: FloatArray = scores + longer + richer  # type: ignore[assignment]
    np.testing.assert_array_equal(spread(favoured, 2), spread(scores, 2))


def test_a_single_sentence_gets_its_best_sequence() -> None:
    assert spread(np.array([[0.1, 0.7, 0.2]], np.float32), most=1) == [1]
