"""Sentences as people read them: no looks, no guessed gender, no nonsense."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from densevidcap.config import WordingConfig
from densevidcap.data.phrases import Phrases
from densevidcap.pipeline.wording import breaks_off, is_absurd, list_told, reword

PLAIN = WordingConfig("raw", looks=False, gender="seen")


def sees(**probabilities: float) -> dict[str, float]:
    return probabilities


@pytest.mark.parametrize(
    ("said", "seen", "shown"),
    [
        ("a man is cooking", sees(man=0.9), "a man is cooking"),
        ("a man is cooking", sees(man=0.2), "a person is cooking"),
        ("a man is cooking", sees(guy=0.8), "a man is cooking"),
        ("a man is cooking", sees(man=0.7, woman=0.72), "a person is cooking"),
        ("a woman is cooking", sees(man=0.7, woman=0.72), "a woman is cooking"),
        ("a man is cooking", sees(man=0.8, woman=0.9), "a man is cooking"),
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


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("a man is talking about politics", "a man is talking"),
        ("a man is talking about politics and a car", "a man is talking"),
        ("a man is talking about a person", "a man is talking"),
        ("two men are talking about a young woman", "two men are talking"),
        ("a man talks about people", "a man talks"),
        ("a man is talking about a group of people", "a man is talking"),
        ("a man is speaking about something", "a man is speaking"),
        ("a man is talking about a car", "a man is talking about a car"),
        ("a man is talking about a person in a car", "a man is talking about a person in a car"),
        ("a man is talking about", "a man is talking about"),
        ("a man is talking to a person", "a man is talking to a person"),
        ("a film about a person", "a film about a person"),
        ("a talking person", "a talking person"),
    ],
)
def test_a_topic_that_is_not_seen_is_not_told(said: str, shown: str) -> None:
    def evidence(word: str) -> float:
        return 0.5 if word == "politics" else 0.9

    assert reword(said, evidence, PLAIN) == shown
    assert reword(said, evidence, replace(PLAIN, topics="said")) == said


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a man drives a car", "someone drives a car"),
        ("two girls play", "two boys play"),
        ("the cat and the dog", "a dog and a cat"),
        ("a man is driving a car", "the person drives cars"),
        ("trees by a beach", "a tree by beaches"),
        ("wrestlers are wrestling", "a wrestler wrestles"),
    ],
)
def test_whoever_it_is_tells_the_same(text: str, same: str) -> None:
    assert list_told(text, PLAIN) == list_told(same, PLAIN) != list_told("a dog drives", PLAIN)


def test_who_is_told_as_they_are_said_are_others() -> None:
    said = replace(PLAIN, gender="said")
    assert list_told("a man drives", said) != list_told("a woman drives", said)


def test_a_setting_asks_for_what_is_not_told() -> None:
    said = "a pretty woman sings"
    assert reword(said, lambda _: 0.0, WordingConfig("raw", looks=True, gender="said")) == said
    looks = WordingConfig("raw", looks=True, gender="seen")
    assert reword(said, lambda _: 0.0, looks) == "a pretty person sings"


def test_sentences_are_written_as_sentences() -> None:
    assert reword("a dog runs", lambda _: 0.0, WordingConfig("sentence")) == "A dog runs."


CAPTIONS = [
    ["a man is talking to another man to him", "a dog is doing tricks", "a man is cooking"],
    ["a man is talking to another man to him", "a dog is doing tricks", "a man is cooking"],
    ["doing a trick", "a tricks a cooking"],
    ["doing a trick", "a tricks a cooking"],
]


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
        ("a man is talking to him", True),
        ("a dog is doing a trick", False),
        ("a dog is doing a tricks", True),
        ("a dog is doing a man", True),
        ("a dog is doing a cooking", True),
    ],
)
def test_what_nobody_would_say_is_absurd(sentence: str, absurd: bool) -> None:
    assert is_absurd(sentence, Phrases.count(CAPTIONS)) is absurd


PLURALS = [
    "a group of people is dancing to the man and the women are dancing to a man",
    "there is a man who is dancing the women is dancing there is a man is dancing",
    "a man and a woman are dancing the man are dancing dancing a song a dancing song",
    "a song is about dancing a man is about to dancing",
]


@pytest.mark.parametrize(
    ("sentence", "absurd"),
    [
        ("the women are dancing", False),
        ("the women is dancing", True),
        ("a group of people is dancing", False),
        ("the man are dancing", True),
        ("a man and a woman are dancing", False),
        ("there is a man who is dancing", False),
        ("there is a man is dancing", True),
        ("the women are dancing a song", False),
        ("the women are dancing a group", True),
        ("a man is about dancing", True),
        ("a song is about dancing", False),
        ("a man is about to", False),
    ],
)
def test_what_does_not_agree_or_never_met_is_absurd(sentence: str, absurd: bool) -> None:
    phrases = Phrases.count([PLURALS, PLURALS])
    words = sentence.split()
    assert all(phrases.knows(f"{a} {b}") for a, b in pairwise(words))
    assert is_absurd(sentence, phrases) is absurd
    assert not is_absurd(sentence, phrases, strict=False)


def test_phrases_without_articles_forbid_nothing(tmp_path: Path) -> None:
    known = Phrases.count([PLURALS, PLURALS])
    known.save(tmp_path / "new.json")
    assert not Phrases.load(tmp_path / "new.json").joins("dancing group")
    content = json.loads((tmp_path / "new.json").read_text())
    del content["joined"]
    (tmp_path / "old.json").write_text(json.dumps(content))
    old = Phrases.load(tmp_path / "old.json")
    assert old.joins("dancing group")
    assert old.knows("dancing a")


def test_a_sentence_that_ends_in_a_little_word_breaks_off() -> None:
    assert breaks_off("a man is talking about")
    assert not breaks_off("a man is talking")
