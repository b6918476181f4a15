"""Learning w_v."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.regions.clips import EQUAL, make_clip

from densevidcap.config import RegionsConfig
from densevidcap.errors import ModelError
from densevidcap.regions import CaptionedClip, WeightStep, learn_terms, learn_weights
from densevidcap.regions.weights import Choices, fit_weights

seeds = st.integers(0, 2**32 - 1)


def make_choices(seed: int) -> Choices:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, 40)
    advantages = rng.normal([1.0, 0.3, 0.6], 0.5, (sizes.sum(), 3)) * [0.01, 1.0, 0.1]
    return Choices(advantages, rng.random(sizes.sum()), sizes)


def captioned(seed: int) -> CaptionedClip:
    clip = make_clip(seed, frames=5, rows=3, columns=3, words=12)
    rng = np.random.default_rng(seed)
    return CaptionedClip(clip, [rng.choice(12, 3, replace=False) for _ in range(6)])


@given(seeds, st.lists(st.floats(0, 50), min_size=3, max_size=3))
def test_the_hinge_equals_its_definition(seed: int, weights: list[float]) -> None:
    choices = make_choices(seed)
    expected, begin = [], 0
    for size in choices.sizes:
        worst = 0.0
        for row in range(begin, begin + size):
            worst = max(worst, choices.margins[row] - choices.advantages[row] @ np.array(weights))
        expected.append(worst)
        begin += size
    assert choices.hinge(np.array(weights))[0] == pytest.approx(np.mean(expected))


@given(seeds, seeds)
def test_the_hinge_lies_above_its_tangents(seed: int, other: int) -> None:
    choices = make_choices(seed)
    here, there = np.random.default_rng(other).random((2, 3)) * 10
    loss, gradient = choices.hinge(here)
    assert choices.hinge(there)[0] >= loss + gradient @ (there - here) - 1e-9


@settings(max_examples=20)
@given(seeds)
def test_fitted_weights_cannot_be_bettered_nearby(seed: int) -> None:
    choices, decay = make_choices(seed), 1e-2
    typical = np.sqrt(np.mean(choices.advantages**2, axis=0))

    def loss(weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return choices.hinge(weights)[0] + decay / 2 * float(np.sum((weights * typical) ** 2))

    fitted = fit_weights(choices, decay)
    assert (fitted >= 0).all()
    rng = np.random.default_rng(seed)
    for size in (0.001, 0.01, 0.1, 0.5):
        for _ in range(50):
            nearby = np.maximum(fitted * (1 + size * rng.normal(size=3)), 0)
            assert loss(fitted) <= loss(nearby) + 1e-4


def test_learning_alternates_until_no_weight_changes() -> None:
    clips = [captioned(seed) for seed in range(4)]
    config = RegionsConfig(k=3)
    steps = list(learn_weights(clips, config, rounds=30))
    for step in steps:
        assert [*step.terms] == [*config.terms]
        assert min(step.terms.values()) >= 0
        assert np.mean([*step.terms.values()]) == pytest.approx(1)
    assert steps[0].reassociated == 0
    assert [step.converged for step in steps[:-1]] == [False] * (len(steps) - 1)
    assert steps[-1].converged == (steps[-1].moved < 0.01)
    assert steps == list(learn_weights(clips, config, rounds=30))


def test_learning_goes_on_from_the_weights_it_is_given() -> None:
    clips = [captioned(seed) for seed in range(2)]
    first, second = learn_weights(clips, RegionsConfig(k=2), rounds=2)
    again = RegionsConfig(k=2, terms=first.terms)
    assert next(learn_weights(clips, again)).terms == second.terms


@pytest.mark.parametrize(
    "terms",
    [
        EQUAL,
        {"informativeness": 1.0, "divergence": 1.0, "coherence": 1.0},
        {"informativeness": 1.0, "coherence": 1.0},
        {"coherence": 1.0, "nearest_divergence": 1.0, "divergence": 1.0, "informativeness": 1.0},
    ],
)
def test_what_was_learned_is_fixed_in_the_config(terms: dict[str, float]) -> None:
    clips = [captioned(seed) for seed in range(3)]
    config = RegionsConfig(k=2, terms=terms, weights="learned")
    reported: list[WeightStep] = []
    learned, steps = learn_terms(clips, config, reported.append)
    assert reported == steps
    assert learned == replace(config, terms=steps[-1].terms, weights="fixed")
    assert [*learned.terms] == [*terms]
    assert steps == list(learn_weights(clips, config))


def test_learning_looks_for_the_captions_words_if_the_setting_says_so() -> None:
    clip = captioned(0)
    config = RegionsConfig(k=2, training_words="captions")
    assert clip.list_words(RegionsConfig()) is None
    expected = sorted({int(word) for words in clip.sentences for word in words})
    assert clip.list_words(config).tolist() == expected  # type: ignore[union-attr]
    few = CaptionedClip(clip.clip, clip.sentences[:1])
    whole, limited = (
        learn_terms([few], replace(config, training_words=words))[0].terms
        for words in ("lexicon", "captions")
    )
    assert whole != limited


def test_the_order_of_terms_changes_nothing() -> None:
    clips = [captioned(seed) for seed in range(3)]
    backwards = dict(reversed(EQUAL.items()))
    one, other = (
        learn_terms(clips, RegionsConfig(k=2, terms=terms))[0].terms for terms in (EQUAL, backwards)
    )
    assert one == pytest.approx(other, rel=1e-3)


def test_sentences_without_a_word_that_is_seen_are_an_error() -> None:
    clip = make_clip(0)
    clip.probabilities[:] = 0.01
    with pytest.raises(ModelError, match="share a lexicon"):
        next(learn_weights([CaptionedClip(clip, [np.array([1, 2])])], RegionsConfig()))


def test_terms_that_tell_nothing_are_an_error() -> None:
    choices = Choices(-np.ones((4, 3)), np.ones(4), np.array([2, 2]))
    with pytest.raises(ModelError, match="train the Lexical-FCN longer"):
        fit_weights(choices, 1e-4)


def test_the_oracle_decides_which_term_counts() -> None:
    """Only informativeness tells the oracle's region from others."""
    rng = np.random.default_rng(0)
    advantages = np.column_stack([np.ones(30), *rng.normal(0, 0.01, (2, 30))])
    fitted = fit_weights(Choices(advantages, np.ones(30), np.full(10, 3)), 1e-4)
    assert fitted[0] > 0.9
    assert fitted[0] == max(fitted)
