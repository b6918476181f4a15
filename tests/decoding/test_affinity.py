"""Affinity: what a sequence has of a sentence beyond the others, by both witnesses."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.data.lexicon import list_content_words
from densevidcap.decoding.select import find_affinities, find_special

WORDS = ["man", "dog", "guitar"]
SENTENCES = ["a man plays a guitar", "a dog is running", "the zebra"]


def draw_likelihoods(
    seed: int, sequences: int = 4
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    random = np.random.default_rng(seed)
    return random.uniform(-30, -1, (len(SENTENCES), sequences)).astype(np.float32)


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_what_is_special_is_so_on_average_to_none(seed: int, sequences: int) -> None:
    special = find_special(draw_likelihoods(seed, sequences))
    np.testing.assert_allclose(np.exp(special).mean(axis=1), 1)
    assert (special <= np.log(sequences) + 1e-9).all()


@given(st.integers(0, 10_000))
def test_sentences_too_unlikely_for_a_float_are_compared_all_the_same(seed: int) -> None:
    likelihoods = draw_likelihoods(seed).astype(np.float64)
    np.testing.assert_allclose(find_special(likelihoods - 2000), find_special(likelihoods))


@given(st.integers(0, 10_000))
def test_words_that_all_sequences_show_alike_say_nothing(seed: int) -> None:
    likelihoods = draw_likelihoods(seed)
    shown = np.tile(np.array([0.1, 0.7, 0.0], np.float32), (4, 1))
    found = find_affinities(SENTENCES, likelihoods, shown, WORDS)
    np.testing.assert_allclose(found, find_special(likelihoods), rtol=1e-5, atol=1e-5)


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_affinity_equals_the_transcription(seed: int, sequences: int) -> None:
    """log P(s | r) / mean P(s | any), and 0.4 times the same of the words that are shown."""
    likelihoods = draw_likelihoods(seed, sequences)
    shown = np.random.default_rng(seed).random((sequences, len(WORDS)), np.float32)
    sentences = ["a man sees a man", *SENTENCES[:2]]
    found = find_affinities(sentences, likelihoods, shown, WORDS)
    for row, sentence in enumerate(sentences):
        likely = np.exp(likelihoods[row].astype(np.float64))
        columns = [WORDS.index(w) for w in {*list_content_words(sentence)} & {*WORDS}]
        raised = shown[:, columns].astype(np.float64) + 0.01
        expected = np.log(likely / likely.mean())
        expected += 0.4 * np.log(raised / raised.mean(axis=0)).sum(axis=1)
        np.testing.assert_allclose(found[row], expected, rtol=1e-4, atol=1e-4)


def test_a_sequence_that_shows_the_words_wins() -> None:
    alike = np.zeros((3, 2), np.float32)
    shown = np.array([[0.4, 0.0, 0.3], [0.1, 0.6, 0.0]], np.float32)
    found = find_affinities(SENTENCES, alike, shown, WORDS)
    assert found.argmax(axis=1).tolist() == [0, 1, 0]
    assert not found[2].any()


def test_rarer_words_than_those_shown_are_unknown() -> None:
    alike = np.zeros((3, 2), np.float32)
    shown = np.array([[0.4], [0.1]], np.float32)
    assert not find_affinities(SENTENCES, alike, shown, WORDS)[1].any()
