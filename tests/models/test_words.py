"""A clip's words: scores, order, and the region where each is strongest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.errors import ModelError
from densevidcap.models.shown_words import (
    find_word,
    rank_words,
    score_clip,
    score_frames,
    show_word,
)
from densevidcap.types import FrameGrid, Grid

GRID = Grid(10, 10, window=4, stride=2)
TAGS = {"a": "DET", "dog": "NOUN", "running": "VERB", "of": "ADP", "dogs": "NOUN", "brown": "ADJ"}
LEXICON = Lexicon(LexiconEntry(word, 99 - n, 1, pos) for n, (word, pos) in enumerate(TAGS.items()))


@st.composite
def clips(draw: st.DrawFn) -> FrameGrid:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    frames = draw(st.integers(1, 5))
    probabilities = rng.random((frames, len(GRID), len(LEXICON)), dtype=np.float32)
    probabilities **= draw(st.sampled_from([1, 5, 20]))
    features = np.zeros((frames, len(GRID), 1), dtype=np.float32)
    return FrameGrid(GRID, np.arange(frames) / 2, probabilities, features)


@given(clips())
def test_a_clips_score_is_the_mean_noisy_or_of_its_frames(seen: FrameGrid) -> None:
    exact = seen.probabilities.astype(np.float64)
    expected = (1 - (1 - exact).prod(axis=1)).mean(axis=0)
    np.testing.assert_allclose(score_frames(seen.probabilities), expected, rtol=1e-4, atol=1e-6)


@given(clips(), st.integers(0, len(TAGS)))
def test_whole_frames_have_half_a_say_in_the_words_that_they_tell(
    seen: FrameGrid, told: int
) -> None:
    rng = np.random.default_rng(told)
    whole = rng.random((len(seen.times), told), dtype=np.float32)
    regions, frames = score_clip(seen).astype(np.float64), whole.mean(axis=0)
    score = score_clip(replace(seen, frame_words=whole))
    np.testing.assert_array_equal(score[told:], regions[told:].astype(np.float32))
    known = regions[:told].clip(1e-7, 1 - 1e-7)
    odds = known / (1 - known) * frames / (1 - frames)
    np.testing.assert_allclose(score[:told], np.sqrt(odds) / (1 + np.sqrt(odds)), rtol=1e-3)
    for index in range(len(TAGS)):
        some = score_clip(replace(seen, frame_words=whole), slice(index, index + 1))
        np.testing.assert_allclose(some, score[index : index + 1], rtol=1e-5)


def test_certain_and_impossible_regions_are_no_trouble() -> None:
    probabilities = np.array([[[1.0, 0.0], [0.5, 0.0]]], dtype=np.float32)
    assert score_frames(probabilities).tolist() == [1.0, 0.0]


@given(clips())
def test_words_come_by_falling_probability_with_their_strongest_region(seen: FrameGrid) -> None:
    words = rank_words(seen, LEXICON, top=10, all_words=True)
    assert {word.word for word in words} == set(TAGS)
    scores = [word.probability for word in words]
    np.testing.assert_allclose(scores, sorted(scores, reverse=True), rtol=1e-5)
    for word in words:
        responses = seen.probabilities[:, :, LEXICON.index[word.word]]
        assert word.peak == responses.max() == responses[word.index, word.region]
        assert word.time == seen.times[word.index]
        assert word.box == GRID.box(word.region)
        assert word == show_word(seen, LEXICON, LEXICON.index[word.word])


@given(clips())
def test_words_that_cannot_be_seen_are_left_out(seen: FrameGrid) -> None:
    words = rank_words(seen, LEXICON, top=3)
    assert len(words) == 3
    assert not {"a", "of"} & {word.word for word in words}


def test_an_unknown_word_is_answered_with_near_ones() -> None:
    assert find_word(LEXICON, "Dog") == 1
    with pytest.raises(ModelError, match="'doge' is not among the model's 6 words; it has dog"):
        find_word(LEXICON, "doge")
    with pytest.raises(ModelError, match="; try another word"):
        find_word(LEXICON, "xylophone")
