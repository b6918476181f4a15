"""The words that set region-sequences apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.regions.clips import make_clip

from densevidcap.config import RegionsConfig
from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.regions import generate_sequences, pool_words
from densevidcap.regions.words import choose_words, distinguish
from densevidcap.types import FloatArray

LEXICON = Lexicon(
    LexiconEntry(f"word{place}", 9 - place, 1, pos)
    for place, pos in enumerate(["DET", "NOUN", "VERB", "ADJ", "NOUN", "ADP", "PROPN"])
)


@st.composite
def pools(draw: st.DrawFn) -> FloatArray:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.random((draw(st.integers(1, 6)), 7), dtype=np.float32)


@given(pools())
def test_of_equally_probable_words_the_one_that_others_lack_counts_more(pooled: FloatArray) -> None:
    pooled[:, 0] = pooled[:, 1] = 0.8
    pooled[1:, 1] = 0.1
    scores = distinguish(pooled)
    assert scores[0, 1] > scores[0, 0] or len(pooled) == 1


@given(pools())
def test_alike_sequences_keep_their_most_probable_words(pooled: FloatArray) -> None:
    pooled[:] = pooled[0]
    for scores in distinguish(pooled):
        assert pooled[0][scores.argmax()] == pooled[0].max()


def test_a_single_sequence_has_nothing_to_differ_from() -> None:
    pooled = np.array([[0.1, 0.7, 0.2]], dtype=np.float32)
    np.testing.assert_array_equal(distinguish(pooled), pooled)


def test_words_that_nobody_sees_are_left_out_and_the_others_follow_the_sequence() -> None:
    clip = make_clip(0, frames=6)
    sequences = generate_sequences(clip, RegionsConfig(k=3))
    pooled = pool_words(sequences, clip)
    for number, worded in enumerate(choose_words(sequences, clip, LEXICON, 9)):
        assert worded.sequence == sequences[number]
        assert {word.word for word in worded.words} == {f"word{n}" for n in (1, 2, 3, 4, 6)}
        for word in worded.words:
            assert len(word.responses) == 6
            highest = pooled[number, LEXICON.index[word.word]]
            assert word.probability == pytest.approx(highest)
