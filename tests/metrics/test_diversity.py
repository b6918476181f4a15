"""D_div and the latent space it is measured in."""

from __future__ import annotations

import random
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.data.lsa import LatentSpace
from densevidcap.metrics.diversity import Array, cluster, diversity

WORDS = ("man", "dog", "horse", "car", "runs", "sings", "drives", "eats", "red", "small")
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
CAPTIONS = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS[:3]]


@pytest.fixture(scope="module")
def space() -> LatentSpace:
    return LatentSpace.fit(CAPTIONS, dimensions=6)


@given(SENTENCES, st.integers(1, 6))
def test_equal_sentences_have_none(space: LatentSpace, sentence: str, count: int) -> None:
    assert diversity(space.embed([sentence] * count)) == pytest.approx(0, abs=1e-9)


@given(st.lists(SENTENCES, min_size=2, max_size=8), st.randoms())
def test_order_does_not_matter_and_it_has_a_range(
    space: LatentSpace, sentences: list[str], source: random.Random
) -> None:
    shuffled = list(sentences)
    source.shuffle(shuffled)
    found = diversity(space.embed(sentences))
    assert found == pytest.approx(diversity(space.embed(shuffled)))
    # Cosines of n vectors sum to -n at least.
    assert -1e-9 <= found <= 1 + 1 / (len(sentences) - 1) + 1e-9


@given(st.integers(2, 7), st.integers(0, 10_000))
def test_it_is_equation_15(count: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(count, 3))
    apart = [
        1 - x @ y / (np.linalg.norm(x) * np.linalg.norm(y)) for x, y in permutations(vectors, 2)
    ]
    assert diversity(vectors) == pytest.approx(sum(apart) / len(apart))


def test_orthogonal_sentences_differ_wholly() -> None:
    assert diversity(np.eye(5)) == 1


def test_sentences_without_a_known_word_are_alike(space: LatentSpace) -> None:
    silent = space.embed(["is at", "zebra"])
    assert not silent.any()
    assert diversity(silent) == 0
    assert diversity(np.vstack([silent, space.embed(["man"])])) == pytest.approx(2 / 3)


def test_function_words_say_nothing(space: LatentSpace) -> None:
    there, here = space.embed(["man sings", "man is in and sings"])
    assert there == pytest.approx(here)


def test_the_space_is_that_of_a_full_decomposition() -> None:
    """With all dimensions, cosines are those of the TF-IDF bags themselves."""
    captions = ["red car", "red dog", "small dog", "small car runs", "dog runs"]
    space = LatentSpace.fit(captions, dimensions=5)
    words = list(space.rarity)
    bags = np.array([[space.rarity[w] * (w in s.split()) for w in words] for s in captions])
    bags /= np.linalg.norm(bags, axis=1, keepdims=True)
    embedded = space.embed(captions)
    assert embedded @ embedded.T == pytest.approx(bags @ bags.T)
    singular = np.linalg.svd(bags, compute_uv=False)
    assert np.linalg.norm(embedded, axis=0) == pytest.approx(singular)


@given(st.integers(1, 5), st.integers(0, 99))
def test_clusters_that_lie_apart_are_found(count: int, seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0, 0.01, (4 * count, count))
    centres = cluster(np.repeat(np.eye(count), 4, axis=0) + noise, count, seed)
    assert np.sort(centres.argmax(axis=1)).tolist() == list(range(count))


def test_fewer_points_than_clusters_are_their_own_centres() -> None:
    centres = cluster(np.repeat(np.eye(2), 3, axis=0), 3)
    assert {tuple(centre) for centre in centres} == {(1, 0), (0, 1)}


def draw_unit(seed: int, count: int) -> Array:
    vectors = np.random.default_rng(seed).normal(size=(count, 3))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


@given(st.integers(1, 4), st.integers(0, 10_000))
def test_each_centre_is_the_mean_of_what_is_nearest_to_it(count: int, seed: int) -> None:
    vectors = draw_unit(seed, 12)
    centres = cluster(vectors, count, seed)
    nearest = ((vectors[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    for number, centre in enumerate(centres):
        np.testing.assert_allclose(centre, vectors[nearest == number].mean(axis=0))


@given(st.integers(1, 4), st.integers(0, 10_000))
def test_clusters_go_by_direction_and_seed_alone(count: int, seed: int) -> None:
    vectors = draw_unit(seed, 12)
    # By powers of two nothing is rounded: the last bit of a vector can decide between two starts.
    longer = 2.0 ** np.random.default_rng(seed).integers(-4, 5, (12, 1))
    centres = cluster(vectors, count, seed)
    np.testing.assert_array_equal(cluster(vectors, count, seed), centres)
    np.testing.assert_array_equal(cluster(vectors * longer, count, seed), centres)


def test_clusters_are_as_tight_as_the_tightest_there_are() -> None:
    """Held against every partition."""
    excess = []
    for seed in range(5):
        vectors = draw_unit(seed, 7)
        partitions = (np.array([0, *labels]) for labels in product(range(3), repeat=6))
        tightest = min(
            sum(
                float(((part - part.mean(axis=0)) ** 2).sum())
                for part in (vectors[labels == number] for number in range(3))
                if len(part)
            )
            for labels in partitions
        )
        centres = cluster(vectors, 3, seed)
        found = ((vectors[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum()
        excess.append(found / tightest - 1)
    assert max(excess) == pytest.approx(0, abs=1e-9)
