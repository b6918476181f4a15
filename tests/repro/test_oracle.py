"""Oracles: what they give is the best of what is there."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from densevidcap.repro.candidates import Pair, associate, read_begun

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


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True), WORTH)
def test_sentences_that_go_with_different_things_are_only_sorted(
    said: list[str], worth: dict[str, float]
) -> None:
    ranked = associate([*enumerate(said)], worth)
    assert sorted(ranked) == sorted(said)
    values = [worth[sentence] for sentence in ranked]
    assert values == sorted(values, reverse=True)


def test_what_was_found_before_a_kill_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "said" / "candidates.begun"
    assert read_begun(path) == {}
    path.write_text('\n["one", {"sentences": ["a"]}]\n["two", {"sent\n["three", {}]')
    assert read_begun(path) == {"one": {"sentences": ["a"]}, "three": {}}
