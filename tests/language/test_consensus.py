"""Agreement: with everybody, with nobody, and whatever the order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.language.consensus import agree

RARITY = {"man": 1.0, "dog": 3.0, "runs": 2.5, "guitar": 5.0, "plays": 2.0, "sleeps": 4.0}
words = st.sampled_from(["a", "the", *RARITY])
sentences = st.lists(
    st.lists(words, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=8, unique=True
)


@given(sentences)
def test_agreement_is_a_share(said: list[str]) -> None:
    found = agree(said, [1] * len(said), RARITY)
    assert found.shape == (len(said),)
    assert (found >= 0).all()
    assert (found <= 1 + 1e-9).all()


@given(sentences)
def test_the_order_does_not_matter(said: list[str]) -> None:
    order = np.random.default_rng(len(said)).permutation(len(said))
    found = agree(said, [1] * len(said), RARITY)
    shuffled = agree([said[place] for place in order], [1] * len(said), RARITY)
    np.testing.assert_allclose(shuffled, found[order])


@given(sentences)
def test_a_count_is_as_good_as_a_repetition(said: list[str]) -> None:
    counts = [1 + place % 3 for place in range(len(said))]
    repeated = [one for one, count in zip(said, counts, strict=True) for _ in range(count)]
    found = agree(repeated, [1] * len(repeated), RARITY)
    firsts = [repeated.index(one) for one in said]
    np.testing.assert_allclose(agree(said, counts, RARITY), found[firsts])


def test_who_says_something_else_agrees_least() -> None:
    said = ["a dog runs", "the dog runs", "a dog sleeps", "a man plays the guitar"]
    found = agree(said, [1, 1, 1, 1], RARITY)
    assert found.argmin() == 3
    assert found.argmax() == 0


def test_what_was_found_often_counts_more() -> None:
    said = ["a dog runs", "a man plays the guitar"]
    assert agree(said, [1, 5], RARITY).argmax() == 1
    assert agree(said, [5, 1], RARITY).argmax() == 0
