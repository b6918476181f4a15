"""Oracles: what they give is the best of what is there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from densevidcap.experiments.oracle import Pair, associate, rank_by_worth

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abcdefgh")), min_size=1)
WORTH = st.fixed_dictionaries({letter: st.floats(0, 1) for letter in "abcdefgh"})


@given(PAIRS, WORTH)
def test_each_sequence_gets_one_of_its_own_sentences(
    pairs: list[Pair], worth: dict[str, float]
) -> None:
    given = associate(pairs, worth)
    assert len(given) == len(set(given)) <= len({sequence for sequence, _ in pairs})
    assert worth[given[0]] == max(worth[sentence] for _, sentence in pairs)
    assert [worth[sentence] for sentence in given] == sorted(
        (worth[sentence] for sentence in given), reverse=True
    )


@given(PAIRS, WORTH)
def test_the_oracle_sorts_all_that_was_said(pairs: list[Pair], worth: dict[str, float]) -> None:
    ranked = rank_by_worth(pairs, worth)
    assert sorted(ranked) == sorted(sentence for _, sentence in pairs)
    values = [worth[sentence] for sentence in ranked]
    assert values == sorted(values, reverse=True)
