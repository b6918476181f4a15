"""The choice of sentences: the best first, none twice, and as different as is asked for."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from densevidcap.config import SelectionConfig
from densevidcap.decoding.select import choose
from densevidcap.errors import ModelError
from densevidcap.regions.objectives import Float64Array
from densevidcap.types import Candidates

SEQUENCES = 4


def plain(k: int = 5, diversity: float = 0.4, specificity: float = 0.05, **others: Any) -> Any:
    """By quality, difference and affinity alone, sequences in turn, but for the others."""
    nothing = {"reuse": 1e3, "detail": 0.0, "telling": 0, "news": 0, "coverage": 0.0, "sure": 0.0}
    return SelectionConfig(k, diversity, specificity, **(nothing | others))


def make_found(
    sentences: list[str],
    quality: Float64Array,
    meanings: Float64Array,
    affinities: Float64Array,
    confidence: Float64Array | None = None,
    things: Float64Array | None = None,
) -> Candidates:
    none: Any = np.zeros(len(sentences))
    arrays: Any = quality, meanings, affinities
    return Candidates(
        tuple(sentences),
        none,
        arrays[2],
        arrays[2],
        arrays[0],
        none,
        none if confidence is None else confidence,  # type: ignore[arg-type]
        arrays[1],
        none[:, None],
        none[:, None] if things is None else things,  # type: ignore[arg-type]
    )


def find_sentences(seed: int, count: int) -> Candidates:
    """Some sentences stand twice."""
    random = np.random.default_rng(seed)
    said = random.integers(0, max(1, count // 2 + 1), count)
    different = int(said.max()) + 1
    return make_found(
        [f"a cat of {number} years" for number in said],
        random.uniform(0, 1, different)[said],
        random.normal(size=(different, 5))[said],
        random.normal(size=(different, SEQUENCES))[said],
    )


def mean_cosine(vectors: Any) -> float:
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return float((units @ units.T)[~np.eye(len(units), dtype=bool)].mean())


@settings(max_examples=50)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 30), k=st.integers(1, 12))
def test_no_sentence_twice_and_sequences_in_turn(seed: int, count: int, k: int) -> None:
    found = find_sentences(seed, count)
    chosen = choose(found, plain(k))
    said = [found.sentences[choice.candidate] for choice in chosen]
    assert len(set(said)) == len(said) == min(k, len(set(found.sentences)))
    assert found.quality[chosen[0].candidate] == found.quality.max()
    for start in range(0, len(chosen), SEQUENCES):
        described = [choice.sequence for choice in chosen[start : start + SEQUENCES]]
        assert len(set(described)) == len(described)


@settings(max_examples=50)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 30))
def test_by_quality_alone_the_best_are_chosen(seed: int, count: int) -> None:
    found = find_sentences(seed, count)
    chosen = choose(found, plain(k=5, diversity=0, specificity=0))
    quality = found.quality[[choice.candidate for choice in chosen]]
    assert quality.tolist() == sorted(set(found.quality.tolist()), reverse=True)[:5]


def choose_literally(found: Candidates, config: SelectionConfig) -> list[tuple[int, int]]:
    """The module's rule, pair by pair."""
    meanings = found.meanings / np.linalg.norm(found.meanings, axis=1, keepdims=True)
    chosen: list[tuple[int, int]] = []
    free: list[int] = []

    def worth(pair: tuple[int, int]) -> float:
        cosines = [float(meanings[pair[0]] @ meanings[other]) for other, _ in chosen]
        sameness = sum(cosines) / len(cosines) if cosines else 0.0
        own = config.specificity * float(found.affinities[pair])
        return float(found.quality[pair[0]]) + own - config.diversity * sameness

    while len(chosen) < config.k:
        said = {found.sentences[candidate] for candidate, _ in chosen}
        left = [place for place, text in enumerate(found.sentences) if text not in said]
        if not chosen:
            left = [place for place in left if found.quality[place] == found.quality.max()]
        free = free or list(range(SEQUENCES))
        if not left:
            break
        chosen.append(max(product(left, free), key=worth))
        free.remove(chosen[-1][1])
    return chosen


@settings(max_examples=50)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(1, 20),
    k=st.integers(1, 9),
    weights=st.tuples(st.sampled_from([0.0, 0.4, 2.0]), st.sampled_from([0.0, 0.05, 1.0])),
)
def test_choices_equal_the_transcription(
    seed: int, count: int, k: int, weights: tuple[float, float]
) -> None:
    found, config = find_sentences(seed, count), plain(k, *weights)
    chosen = choose(found, config)
    assert [tuple(choice) for choice in chosen] == choose_literally(found, config)


def test_of_nothing_nothing_is_chosen() -> None:
    nothing = make_found([], np.zeros(0), np.zeros((0, 5)), np.zeros((0, SEQUENCES)))
    assert choose(nothing, plain()) == []


def test_the_weight_of_diversity_makes_sentences_differ() -> None:
    sameness = []
    for diversity in (0.0, 0.5, 2.0, 100.0):
        each = []
        for seed in range(20):
            found = find_sentences(seed, 60)
            chosen = choose(found, plain(5, diversity))
            each.append(mean_cosine(found.meanings[[choice.candidate for choice in chosen]]))
        sameness.append(np.mean(each))
    assert sameness == sorted(sameness, reverse=True)
    assert sameness[0] - sameness[-1] > 0.1


def test_the_weight_of_specificity_ties_sentences_to_their_sequences() -> None:
    ties = []
    for weight in (0.0, 0.1, 10.0):
        each = []
        for seed in range(20):
            found = find_sentences(seed, 60)
            chosen = choose(found, plain(4, specificity=weight))
            each += [found.affinities[choice] for choice in chosen[1:]]
        ties.append(np.mean(each))
    assert ties == sorted(ties)
    assert ties[0] < ties[-1]


def test_the_same_content_words_say_the_same() -> None:
    sentences = ["a dog and a cat", "the cat and the dog", "a cow"]
    found = make_found(sentences, np.array([0.9, 0.8, 0.1]), np.zeros((3, 3)), np.zeros((3, 2)))
    assert choose(found, plain(k=3)) == [(0, 0), (2, 1)]


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"diversity": -1.0}, {"diversity": float("nan")}, {"specificity": -0.1}]
)
def test_impossible_choices_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ModelError):
        plain(**wrong)  # type: ignore[arg-type]


def choose_sentences(found: Candidates, **settings: float) -> list[str]:
    chosen = choose(found, plain(specificity=0, **settings))  # type: ignore[arg-type]
    return [found.sentences[choice.candidate] for choice in chosen]


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), sure=st.floats(0, 1))
def test_only_what_is_sure_is_said_or_the_surest_of_all(seed: int, sure: float) -> None:
    random = np.random.default_rng(seed)
    names = [f"a cat of {number} years" for number in range(12)]
    confidence = random.random(12)
    found = make_found(
        names, random.random(12), random.normal(size=(12, 3)), np.zeros((12, 4)), confidence
    )
    said = choose_sentences(found, k=12, sure=sure)
    is_sure = confidence >= sure if (confidence >= sure).any() else confidence == max(confidence)
    assert {*said} == {name for name, each in zip(names, is_sure, strict=True) if each}
    assert said[0] == names[int(np.where(is_sure, found.quality, -1).argmax())]


def test_what_is_sure_and_tells_something_comes_before_the_rest() -> None:
    names = ["a cat", "a dog runs", "a red cow eats grass", "a red cow eats hay"]
    found = make_found(
        names,
        np.array([0.5, 0.4, 0.3, 0.2]),
        np.eye(4),
        np.zeros((4, 2)),
        np.array([0.1, 0.9, 0.1, 0.6]),
    )
    assert choose_sentences(found, k=4) == names
    assert choose_sentences(found, k=4, detail=1.0) == [names[0], names[3], names[2], names[1]]


def test_a_thing_that_was_named_brings_nothing_more() -> None:
    names = ["a cat sits", "a cat runs", "a ball lies"]
    things = np.array([[0.9, 0.0], [0.9, 0.0], [0.0, 0.5]])
    found = make_found(names, np.array([0.5, 0.4, 0.3]), np.eye(3), np.zeros((3, 2)), things=things)
    assert choose_sentences(found, k=2) == names[:2]
    assert choose_sentences(found, k=2, coverage=0.5) == ["a cat sits", "a ball lies"]


def test_of_equally_unsure_sentences_the_best_is_guessed() -> None:
    names = ["a cat sits", "a dog runs", "a cow eats"]
    quality, confidence = np.array([0.3, 0.5, 0.4]), np.array([0.1, 0.1, 0.05])
    found = make_found(names, quality, np.eye(3), np.zeros((3, 2)), confidence)
    assert choose_sentences(found, k=3, sure=0.9) == ["a dog runs"]


def test_what_tells_little_is_said_where_nothing_tells_more() -> None:
    names = ["a cat", "a dog runs", "a cow eats", "a red cow eats grass"]
    quality, confidence = np.array([0.5, 0.3, 0.4, 0.2]), np.array([0.9, 0.6, 0.6, 0.2])
    found = make_found(names, quality, np.eye(4), np.zeros((4, 2)), confidence)
    assert choose_sentences(found, k=4, telling=1, sure=0.1) == [names[3]]
    assert choose_sentences(found, k=4, telling=1, sure=0.5) == ["a cow eats"]
    assert choose_sentences(found, k=4, telling=1, sure=0.7) == ["a cat"]


def test_sentences_are_compared_by_what_they_tell() -> None:
    names = ["a man talks about a man", "a man talks about a woman", "a cow eats"]
    found = make_found(names, np.array([0.3, 0.5, 0.4]), np.eye(3), np.zeros((3, 2)))
    talk, cow = frozenset({"man", "talks"}), frozenset({"cow", "eats"})
    chosen = choose(found, plain(k=3), [talk, talk, cow])
    assert [choice.candidate for choice in chosen] == [1, 2]
    told = choose(found, plain(k=3, telling=1), [talk, talk, cow | {"red"}])
    assert [choice.candidate for choice in told] == [2]


def test_what_tells_no_more_is_not_said() -> None:
    names = ["a cow eats grass", "a cow eats", "a cow", "a red cow eats grass"]
    found = make_found(names, np.array([0.5, 0.4, 0.3, 0.2]), np.eye(4), np.zeros((4, 2)))
    assert choose_sentences(found, k=4, news=1) == [names[0], names[3]]
    assert choose_sentences(found, k=4, news=0) == names
