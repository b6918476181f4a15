"""Agreement: with everybody, with nobody, and whatever the order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from math import exp, log, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.data.lexicon import is_content_word
from densevidcap.data.phrases import Phrases, list_phrases
from densevidcap.decoding.mbr import mbr_scores
from densevidcap.errors import CorpusError

CAPTIONS = [
    ["a man runs", "the man plays"],
    ["a man plays the guitar", "a dog sleeps"],
    ["a dog runs", "the dog plays"],
    ["a man sleeps"],
]
PHRASES = Phrases.count(CAPTIONS)
words = st.sampled_from(["a", "the", "man", "dog", "runs", "plays", "guitar", "sleeps", "zebra"])
sentences = st.lists(
    st.lists(words, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=8, unique=True
)


def literal_cosine(one: Sequence[str], other: Sequence[str], size: int) -> float:
    """CIDEr's, in which a phrase counts once for being shared, and in lengths as often as said."""
    bags = [Counter(list_phrases(each, size)) for each in (one, other)]
    lengths = [sqrt(sum((n * PHRASES.rarity(p)) ** 2 for p, n in bag.items())) for bag in bags]
    shared = sum(PHRASES.rarity(phrase) ** 2 for phrase in set(bags[0]) & set(bags[1]))
    return shared / (lengths[0] * lengths[1]) if shared else 0.0


def literal_overlap(one: Sequence[str], other: Sequence[str]) -> float:
    """METEOR's harmonic mean of precision and recall, with its weight of recall."""

    def weigh(words: set[str]) -> float:
        return sum(1 if is_content_word(word) else 1 / 3 for word in words)

    shared = weigh(set(one) & set(other))
    precision, recall = shared / weigh(set(one)), shared / weigh(set(other))
    return precision * recall / (0.85 * precision + 0.15 * recall) if shared else 0.0


def literal_similarity(one: Sequence[str], other: Sequence[str]) -> float:
    cosine = sum(literal_cosine(one, other, size) for size in (1, 2)) / 2
    nearness = exp(-((len(one) - len(other)) ** 2) / (2 * 6**2))
    return (cosine * nearness + literal_overlap(one, other)) / 2


@given(sentences)
def test_agreement_equals_the_transcription(said: list[str]) -> None:
    counts = [1 + place % 3 for place in range(len(said))]
    each = [sentence.split() for sentence in said]
    expected = [
        sum(n * literal_similarity(one, other) for n, other in zip(counts, each, strict=True))
        / sum(counts)
        for one in each
    ]
    np.testing.assert_allclose(mbr_scores(said, counts, PHRASES), expected, atol=1e-12)


@given(sentences)
def test_agreement_is_a_share(said: list[str]) -> None:
    found = mbr_scores(said, [1] * len(said), PHRASES)
    assert found.shape == (len(said),)
    assert (found >= 0).all()
    assert (found <= 1 + 1e-9).all()


@given(sentences)
def test_the_order_does_not_matter(said: list[str]) -> None:
    order = np.random.default_rng(len(said)).permutation(len(said))
    shuffled = mbr_scores([said[place] for place in order], [1] * len(said), PHRASES)
    np.testing.assert_allclose(shuffled, mbr_scores(said, [1] * len(said), PHRASES)[order])


@given(sentences)
def test_a_count_is_as_good_as_a_repetition(said: list[str]) -> None:
    counts = [1 + place % 3 for place in range(len(said))]
    repeated = [one for one, count in zip(said, counts, strict=True) for _ in range(count)]
    found = mbr_scores(repeated, [1] * len(repeated), PHRASES)
    firsts = [repeated.index(one) for one in said]
    np.testing.assert_allclose(mbr_scores(said, counts, PHRASES), found[firsts])


def test_who_says_something_else_agrees_least() -> None:
    said = ["a dog runs", "the dog runs", "a dog sleeps", "a man plays the guitar"]
    found = mbr_scores(said, [1] * len(said), PHRASES)
    assert found.argmin() == 3
    assert found.argmax() == 0


def test_saying_little_agrees_less_than_saying_what_others_say() -> None:
    said = ["a dog", "a dog runs and plays", "a dog runs and sleeps", "a dog plays and sleeps"]
    assert mbr_scores(said, [1] * len(said), PHRASES).argmin() == 0


def test_saying_it_twice_agrees_less() -> None:
    said = ["a dog sleeps", "a dog sleeps sleeps sleeps", "the dog sleeps"]
    assert mbr_scores(said, [1] * len(said), PHRASES).argmin() == 1


def test_rarity_counts_clips_not_captions() -> None:
    phrases = Phrases.count(CAPTIONS)
    assert phrases.rarity("a") == 0
    assert phrases.rarity("man") < phrases.rarity("dog") < phrases.rarity("guitar")
    assert phrases.rarity("zebra") == phrases.rarity("guitar") == log(4)
    assert phrases.rarity("a man") == log(4 / 3)


def test_only_words_and_pairs_of_several_clips_are_kept(tmp_path: Path) -> None:
    Phrases.count(CAPTIONS).save(tmp_path / "phrases.json")
    kept = json.loads((tmp_path / "phrases.json").read_text())["phrases"]
    assert {len(phrase.split()) for phrase in kept} == {1, 2}
    assert kept["man"] == 3
    assert min(kept.values()) == 2


def test_phrases_come_back_as_they_were_saved(tmp_path: Path) -> None:
    PHRASES.save(tmp_path / "phrases.json")
    again = Phrases.load(tmp_path / "phrases.json")
    for phrase in ("a", "man", "a man", "the guitar", "zebra"):
        assert again.rarity(phrase) == PHRASES.rarity(phrase)


@pytest.mark.parametrize("content", ["", "[]", '{"clips": 3}', '{"clips": 3, "phrases": [1]}'])
def test_damaged_phrases_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "phrases.json"
    path.write_text(content)
    with pytest.raises(CorpusError, match=r"phrases\.json"):
        Phrases.load(path)
