"""Sentences as people read them: no looks, no guessed gender, no nonsense."""

from __future__ import annotations

import pytest

from densevidcap.config import WordingConfig
from densevidcap.data.phrases import Phrases
from densevidcap.pipeline.wording import breaks_off, is_absurd, reword

PLAIN = WordingConfig("raw", looks=False, gender="seen")


def sees(**probabilities: float) -> dict[str, float]:
    return probabilities


@pytest.mark.parametrize(
    ("said", "seen", "shown"),
    [
        ("a man is cooking", sees(man=0.9), "a man is cooking"),
        ("a man is cooking", sees(man=0.2), "a person is cooking"),
        ("a man is cooking", sees(guy=0.8), "a man is cooking"),
        ("a man is cooking", {}, "a person is cooking"),
        ("a woman is doing her hair", sees(man=0.9), "a person is doing their hair"),
        ("a woman and a man talk", sees(man=0.9), "a person and a man talk"),
        ("two girls play with boys", {}, "two children play with children"),
        ("a young black man sings", sees(man=0.9), "a young man sings"),
        ("a beautiful blonde woman sings", sees(woman=0.9), "a woman sings"),
        ("a woman in a black shirt", sees(woman=0.9), "a woman in a black shirt"),
        ("a white cat sleeps", {}, "a white cat sleeps"),
        ("an indian man eats a apple", sees(man=0.9), "a man eats an apple"),
        ("a two men fight", sees(men=0.9), "two men fight"),
        ("a unicorn in an uniform", {}, "a unicorn in a uniform"),
        ("an one eyed a animal", {}, "a one eyed an animal"),
    ],
)
def test_only_what_is_seen_of_people_is_told(said: str, seen: dict[str, float], shown: str) -> None:
    assert reword(said, lambda word: seen.get(word, 0.0), PLAIN) == shown


def test_a_setting_asks_for_what_is_not_told() -> None:
    said = "a pretty woman sings"
    assert reword(said, lambda _: 0.0, WordingConfig("raw", looks=True, gender="said")) == said
    looks = WordingConfig("raw", looks=True, gender="seen")
    assert reword(said, lambda _: 0.0, looks) == "a pretty person sings"


def test_sentences_are_written_as_sentences() -> None:
    assert reword("a dog runs", lambda _: 0.0, WordingConfig("sentence")) == "A dog runs."


CAPTIONS = [["a man is talking to another man", "a dog is doing tricks", "a man is cooking"]] * 2


@pytest.mark.parametrize(
    ("sentence", "absurd"),
    [
        ("a man is cooking", False),
        ("a man is talking to another man", False),
        ("a man is talking to a man", True),
        ("a man is is talking", True),
        ("with a man is cooking", True),
        ("a man and a dog is talking to a dog", True),
        ("a dog is doing another man", True),
        ("a dog is cooking", False),
        ("tricks is talking", True),
    ],
)
def test_what_nobody_would_say_is_absurd(sentence: str, absurd: bool) -> None:
    assert is_absurd(sentence, Phrases.count(CAPTIONS)) is absurd


def test_a_sentence_that_ends_in_a_little_word_breaks_off() -> None:
    assert breaks_off("a man is talking about")
    assert not breaks_off("a man is talking")
