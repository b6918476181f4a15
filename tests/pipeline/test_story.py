"""Stories: short, in order, and without a word about what no caption says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

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
    lines = re.findall(r"[^.]+", story.lower().replace("then ", ""))
    assert len(lines) == len({line.strip() for line in lines}) <= MOST
    assert story == tell(make_captions(captions))
    assert bool(tokenise(story)) == bool(story)


@settings(max_examples=200, deadline=None)
@given(
    texts=st.lists(st.tuples(sentences, st.integers(0, 5), st.integers(0, 2)), max_size=20),
    is_parted=st.booleans(),
)
def test_of_a_film_every_scene_is_told_and_nothing_twice(
    texts: list[tuple[str, int, int]], is_parted: bool
) -> None:
    captions = [make_caption(text, 10.0 * scene, region) for text, scene, region in texts]
    film = replace(
        make_captions(captions),
        scenes=tuple((10.0 * n, 10.0 * (n + 1)) for n in range(6)),
        chapters=((0.0, 30.0), (30.0, 60.0)) if is_parted else (),
    )
    story = tell(film)
    assert {*list_content_words(re.sub(r"\d+", "", story))} <= {
        word for text, _, _ in texts for word in list_content_words(text)
    }
    paragraphs = story.splitlines()
    assert all(re.match(r"00:00:(00|30) \S", line) for line in paragraphs)
    assert len(paragraphs) <= (2 if is_parted else 1)
    lines = [line.strip().lower() for p in paragraphs for line in p[9:].split(".") if line.strip()]
    assert len(lines) == len(set(lines))
    # A scene says something of its own, or nothing that was not said before.
    distinct = {" ".join(tokenise(text)) for text, _, _ in texts}
    assert len(lines) >= min(len(distinct), 1)


def test_every_scene_of_a_film_has_its_sentence() -> None:
    texts = ["a man is talking", "a man is talking", "a man is talking to a dog", "a man is eating"]
    captions = [make_caption(text, 10.0 * n) for n, text in enumerate(texts)]
    film = replace(
        make_captions(captions), scenes=tuple((10.0 * n, 10.0 * n + 10) for n in range(4))
    )
    assert tell(film) == ("00:00:00 A man is talking. A man is talking to a dog. A man is eating.")


def test_a_scene_that_is_told_like_another_says_it_in_other_words() -> None:
    """Its first sentence was said, so its second is not about a man that nobody heard of."""
    captions = [
        make_caption("a man is talking"),
        make_caption("a man is talking", 10.0, region=1),
        make_caption("a man is dancing", 10.0, region=2),
    ]
    film = replace(make_captions(captions), scenes=((0.0, 10.0), (10.0, 20.0)))
    assert tell(film) == "00:00:00 A man is talking. A man is dancing."
