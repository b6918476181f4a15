"""The choice of sentences: the best first, none twice, and as different as is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from densevidcap.errors import ModelError
from densevidcap.language.choosing import ChoiceOptions, choose
from densevidcap.regions.objectives import Float64Array


def make_sentences(seed: int, count: int) -> tuple[list[str], Float64Array, Float64Array]:
    """Some sentences stand twice, for different sequences."""
    random = np.random.default_rng(seed)
    said = random.integers(0, max(1, count // 2 + 1), count)
    sentences = [f"a cat {number} times" for number in said]
    space = np.random.default_rng(seed + 1).normal(size=(int(said.max()) + 1, 5))
    # Equal sentences are equally good, whichever sequence they were found for.
    quality = np.random.default_rng(seed + 2).uniform(0, 1, said.max() + 1)[said]
    return sentences, quality, space[said]


def mean_cosine(vectors: Float64Array) -> float:
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return float((units @ units.T)[~np.eye(len(units), dtype=bool)].mean())


@settings(max_examples=50)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 30), k=st.integers(1, 12))
def test_no_sentence_twice_and_the_best_first(seed: int, count: int, k: int) -> None:
    sentences, quality, meanings = make_sentences(seed, count)
    chosen = choose(sentences, quality, meanings, ChoiceOptions(k))
    said = [sentences[place] for place in chosen]
    assert len(set(said)) == len(said) == min(k, len(set(sentences)))
    assert quality[chosen[0]] == quality.max()


@settings(max_examples=50)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 30))
def test_without_diversity_the_best_are_chosen(seed: int, count: int) -> None:
    sentences, quality, meanings = make_sentences(seed, count)
    chosen = choose(sentences, quality, meanings, ChoiceOptions(k=5, diversity=0))
    assert quality[chosen].tolist() == sorted(set(quality.tolist()), reverse=True)[:5]


def test_the_weight_of_diversity_makes_sentences_differ() -> None:
    sameness = []
    for diversity in (0.0, 0.5, 2.0, 100.0):
        each = []
        for seed in range(20):
            sentences, quality, meanings = make_sentences(seed, 60)
            chosen = choose(sentences, quality, meanings, ChoiceOptions(5, diversity))
            each.append(mean_cosine(meanings[chosen]))
        sameness.append(np.mean(each))
    assert sameness == sorted(sameness, reverse=True)
    assert sameness[0] - sameness[-1] > 0.1


def test_a_sentence_without_known_words_is_like_no_other() -> None:
    sentences = ["a cat", "a dog"]
    assert choose(sentences, np.array([0.9, 0.1]), np.zeros((2, 3)), ChoiceOptions(k=2)) == [0, 1]


@pytest.mark.parametrize("wrong", [{"k": 0}, {"diversity": -1.0}, {"diversity": float("nan")}])
def test_impossible_choices_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ModelError):
        ChoiceOptions(**wrong)  # type: ignore[arg-type]
