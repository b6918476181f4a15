"""Stories: short, in order, and without a word about what no caption says."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pipeline.small_model import GRID

from densevidcap.data.lexicon import list_content_words
from densevidcap.data.text import tokenise
from densevidcap.pipeline.story import MOST, tell
from densevidcap.types import Caption, DenseCaptions, RegionSequence


def make_caption(text: str, start: float = 0.0, region: int = 0) -> Caption:
    sequence = RegionSequence(GRID, (region,), (start + 0.5,))
    return Caption(text, 0.5, -5.0, start, start + 1, sequence)


def make_captions(captions: Sequence[Caption]) -> DenseCaptions:
    return DenseCaptions("talk.mp4", 99.0, 64, 48, tuple(captions), "small", "1")


def tell_texts(*texts: str) -> str:
    return tell(make_captions([make_caption(text, region=n) for n, text in enumerate(texts)]))


@pytest.mark.parametrize(
    ("texts", "story"),
    [
        (["a man is driving a car"], "A man is driving a car."),
        (
            ["a man is driving a car", "a man is talking to a woman"],
            "A man is driving a car. He is talking to a woman.",
        ),
        (
            ["a man is driving a car", "a woman is singing", "a woman is dancing"],
            "A man is driving a car. A woman is singing. She is dancing.",
        ),
        (
            ["a dog is chasing a cat", "a cat is sleeping on a sofa"],
            "A dog is chasing a cat. The cat is sleeping on a sofa.",
        ),
        (["a cat is playing with a cat"], "A cat is playing with another cat."),
        (
            ["two men are running", "two men are jumping"],
            "Two men are running. They are jumping.",
        ),
        (["there is a woman cooking food"], "A woman is cooking food."),
        (["a person is cooking", "a person is eating"], "A person is cooking. They are eating."),
        (["a man is cooking food", "a man is cooking the food"], "A man is cooking food."),
        (["dogs"], "Dogs."),
    ],
)
def test_it_refers_back(texts: list[str], story: str) -> None:
    assert tell_texts(*texts) == story


def test_what_is_about_the_same_place_becomes_one_sentence() -> None:
    texts = "a man is driving a car", "a man is talking to a dog"
    captions = [make_caption(text, region=5) for text in texts]
    assert tell(make_captions(captions)) == "A man is driving a car and talking to a dog."


def test_shots_come_by_time_and_are_not_mixed_up() -> None:
    captions = [make_caption("a man is singing", 8.0), make_caption("a man is dancing", 2.0)]
    assert tell(make_captions(captions)) == "A man is dancing. Then a man is singing."


def test_nothing_is_told_of_nothing() -> None:
    assert tell(make_captions([])) == ""


WORDS = "a the an is are there man woman dogs people dog car singing running and to about two red"
words = st.sampled_from(WORDS.split())
sentences = st.lists(words, min_size=1, max_size=9).map(" ".join)


@settings(max_examples=200)
@given(texts=st.lists(st.tuples(sentences, st.integers(0, 3), st.integers(0, 2)), max_size=12))
def test_it_invents_nothing(texts: list[tuple[str, int, int]]) -> None:
    captions = [make_caption(text, float(start), region) for text, start, region in texts]
    story = tell(make_captions(captions))
    said = {word for text, _, _ in texts for word in list_content_words(text)}
    assert set(list_content_words(story)) <= said
    assert len(re.findall(r"\.", story)) <= MOST
    assert story == tell(make_captions(captions))
    assert bool(tokenise(story)) == bool(story)
