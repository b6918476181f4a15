"""What speaks for a sentence, against a plain transcription."""

from __future__ import annotations

import numpy as np
import pytest

from densevidcap.data.lexicon import Lexicon, LexiconEntry
from densevidcap.data.phrases import Phrases
from densevidcap.pipeline.shown import Shown
from densevidcap.pipeline.traits import NEVER_SEEN, TRAITS, find_traits
from densevidcap.types import FloatArray

LEXICON = Lexicon(
    LexiconEntry(word, count, count, pos)
    for word, count, pos in [
        *(("dog", 9, "NOUN"), ("ball", 8, "NOUN"), ("runs", 7, "VERB"), ("sky", 6, "NOUN"))
    ]
)
SHOWN = Shown(
    LEXICON,
    clip=np.array([0.8, 0.1, 0.3], np.float32),
    sequences=np.array([[0.5, 0.05, 0.2], [0.2, 0.4, 0.1]], np.float32),
    named=np.array([0.4, 0.9, 0.8], np.float32),
)
SAMPLES = {"a dog with a ball": 3, "a dog": 6, "a man": 1}
PHRASES = Phrases.count([["a dog", "a ball"], ["a dog", "a dog with a ball"], ["a man"]])


def find(*sentences: str) -> dict[str, FloatArray]:
    zeros = np.zeros(len(sentences), np.float32)
    agreement, likelihood = zeros + 0.3, zeros - 2
    traits = find_traits(sentences, SAMPLES, SHOWN, PHRASES, agreement, zeros, likelihood)
    assert traits.shape == (len(sentences), len(TRAITS))
    return dict(zip(TRAITS, traits.T, strict=True))


def log_odds(probability: float) -> float:
    return float(np.log(probability / (1 - probability)))


def test_a_sentence_has_the_mean_and_the_least_of_its_words() -> None:
    found = find("a dog with a ball")
    said = np.log(9.5 / 11), np.log(3.5 / 11)
    assert found["said"] == pytest.approx(np.mean(said), abs=1e-5)
    assert found["least_said"] == pytest.approx(min(said), abs=1e-5)
    clip = log_odds(0.8), log_odds(0.1)
    assert found["shown"] == pytest.approx(np.mean(clip), abs=1e-5)
    assert found["least_shown"] == pytest.approx(min(clip), abs=1e-5)
    own = log_odds(0.5), log_odds(0.4)
    assert found["own"] == pytest.approx(np.mean(own), abs=1e-5)
    assert found["least_own"] == pytest.approx(min(own), abs=1e-5)
    assert found["usual"] == pytest.approx(np.log(2 / 3), abs=1e-5)
    assert found["length"] == 2
    assert found["agreement"] == pytest.approx(0.3)
    assert found["likelihood"] == -2


def test_words_that_nobody_looked_for_are_not_seen() -> None:
    """Neither those that the lexicon lacks nor those beyond what is known of it."""
    found = find("a cat", "the sky")
    assert found["shown"] == pytest.approx(log_odds(NEVER_SEEN), abs=1e-4)
    assert found["least_said"] == pytest.approx(np.log(0.5 / 11), abs=1e-5)


def test_a_pair_of_words_that_few_clips_have_makes_a_sentence_less_fluent() -> None:
    fluent, odd = find("a dog", "dog a ball")["fluency"]
    assert fluent == pytest.approx(np.log(2 / 3), abs=1e-5)
    assert odd == pytest.approx(np.log(1 / 3), abs=1e-5)


def test_a_sentence_without_content_has_traits_too() -> None:
    assert all(np.isfinite(values).all() for values in find("there is the").values())


def test_things_are_nouns_that_people_would_name_each_where_it_is_shown_best() -> None:
    assert SHOWN.things == (1, 0)
    assert SHOWN.place_things() == [(1, "ball"), (0, "dog")]
    marked = SHOWN.mark_things(["a dog runs", "the sky", "a ball and a dog and a ball"])
    expected = np.array([[0, 0.4], [0, 0], [0.9, 0.4]], np.float32)
    assert np.array_equal(marked, expected)
