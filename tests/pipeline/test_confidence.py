"""Confidence: learned from held-out clips, true of others; words that mean what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from densevidcap.errors import ModelError
from densevidcap.pipeline.confidence import (
    Curve,
    Judged,
    Known,
    Trust,
    fit_logistic,
    gauge,
    judge,
    pool_violators,
)
from densevidcap.pipeline.traits import TRAITS

CLIPS, SENTENCES = 80, 20
AGREEMENT, FIT, LEAST = (TRAITS.index(name) for name in ("agreement", "fit", "least_shown"))
seeds = st.integers(0, 10_000)


def make_clips(helps: float, seed: int = 0, turn: float = 1.0) -> list[Judged]:
    """A sentence is right by its agreement, and by `helps` times its least shown word."""
    random = np.random.default_rng(seed)
    clips = []
    for _ in range(CLIPS):
        traits = np.zeros((SENTENCES, len(TRAITS)), np.float32)
        traits[:, AGREEMENT], traits[:, LEAST] = random.uniform(-1, 1, (2, SENTENCES))
        logits = turn * (4 * traits[:, AGREEMENT] + 4 * helps * traits[:, LEAST] - 1)
        is_right = random.random(SENTENCES) < 1 / (1 + np.exp(-logits))
        confirmed = np.where(is_right, 1.0, 0.5).astype(np.float32)
        clips.append(Judged(traits, confirmed, list(range(0, SENTENCES, 2))))
    return clips


@pytest.mark.parametrize("helps", [0.0, 0.5, 1.0])
def test_what_speaks_for_a_sentence_counts_as_far_as_it_does(helps: float) -> None:
    weights = Trust().learn(make_clips(helps)).weights
    share = weights["least_shown"] / weights["agreement"]
    assert share == pytest.approx(helps, abs=0.15)
    assert set(weights) == {"agreement", "least_shown"}


def test_confidence_is_the_share_that_is_right_among_those_that_are_said() -> None:
    trust = Trust().learn(make_clips(0.5))
    unseen = make_clips(0.5, seed=1)
    confidence = np.concatenate([trust.rate(clip.traits) for clip in unseen])
    right = np.concatenate([clip.confirmed for clip in unseen]) == 1
    for part in np.array_split(np.argsort(confidence), 5):
        assert confidence[part].mean() == pytest.approx(right[part].mean(), abs=0.08)


def test_it_is_calibrated_on_what_is_said_and_not_on_all() -> None:
    """Where those that are said are right more often than their traits tell."""
    clips = make_clips(0.5)
    better = []
    for clip in clips:
        confirmed = clip.confirmed.copy()
        confirmed[clip.chosen[::2]] = 1.0
        better.append(clip._replace(confirmed=confirmed))
    chosen = [(clip.traits[clip.chosen], clip.confirmed[clip.chosen]) for clip in better]
    rated = np.concatenate([Trust().learn(better).rate(traits) for traits, _ in chosen])
    right = np.concatenate([confirmed for _, confirmed in chosen]) == 1
    assert rated.mean() == pytest.approx(right.mean(), abs=0.02)


@given(st.floats(-40, 40, width=32), st.floats(-40, 40, width=32))
def test_confidence_is_a_sigmoid_of_weighted_traits(agreement: float, fit: float) -> None:
    traits = np.zeros((1, len(TRAITS)), np.float32)
    traits[0, [AGREEMENT, FIT]] = agreement, fit
    found = Trust({"agreement": 3.0, "fit": 1.5}, -1.0).rate(traits)
    assert found == pytest.approx(1 / (1 + np.exp(-(3 * agreement + 1.5 * fit - 1))), abs=1e-6)


def test_what_no_known_sentence_has_makes_nobody_surer() -> None:
    clips = make_clips(0.5)
    trust = Trust().learn(clips)
    most = np.concatenate([clip.traits for clip in clips]).max(axis=0)[None]
    least = np.concatenate([clip.traits for clip in clips]).min(axis=0)[None]
    for extreme in (most, least):
        beyond = extreme + 1000 * np.sign(extreme - (most + least) / 2)
        np.testing.assert_array_equal(trust.rate(beyond), trust.rate(extreme))
    assert trust.rate(least) < trust.rate(most) < 1


def test_a_trait_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="beauty"):
        Trust({"beauty": 1.0})


@settings(max_examples=10)
@given(seeds)
def test_the_likeliest_regression_has_no_slope_left(seed: int) -> None:
    random = np.random.default_rng(seed)
    inputs, targets = random.normal(size=(60, 2)), random.random(60) < 0.4
    prior = 0.05
    slopes, offset = fit_logistic(inputs, targets, prior)
    missed = 1 / (1 + np.exp(-inputs @ slopes - offset)) - targets
    assert missed.mean() == pytest.approx(0, abs=1e-4)
    held = (missed[:, None] * inputs).mean(axis=0) + prior * slopes
    assert held == pytest.approx(0, abs=1e-4)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.data())
def test_pooled_values_are_the_nearest_that_rise(values: list[float], data: Any) -> None:
    size = len(values)
    weights = data.draw(st.lists(st.floats(0.1, 3), min_size=size, max_size=size))
    pooled = pool_violators(np.array(values), np.array(weights))
    assert (np.diff(pooled) >= 0).all()
    # What is nearest by squares keeps the weighted mean, and is no farther than any that rises.
    assert pooled @ weights == pytest.approx(np.dot(values, weights))
    distance = ((pooled - values) ** 2) @ np.array(weights)
    steps = data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size))
    other = np.cumsum(steps) / size
    assert distance <= ((other - values) ** 2) @ np.array(weights) + 1e-9


def test_a_curve_makes_probabilities_of_what_is_none() -> None:
    random = np.random.default_rng(0)
    raw = random.beta(0.3, 2, 40_000).astype(np.float32)
    hits = random.random(len(raw)) < np.sqrt(raw)
    curve = Curve.fit(raw[::2], hits[::2])
    assert len(curve.raw) <= 70
    rated = curve.apply(raw[1::2])
    order = np.argsort(raw[1::2])
    assert (np.diff(rated[order]) >= 0).all()
    for part in np.array_split(order, 10):
        assert rated[part].mean() == pytest.approx(hits[1::2][part].mean(), abs=0.04)


@pytest.mark.parametrize("hits", [[False] * 5, [True] * 5, [True], [False]])
def test_a_curve_of_little_is_one(hits: list[bool]) -> None:
    raw = np.linspace(0.1, 0.5, len(hits)).astype(np.float32)
    rated = Curve.fit(raw, np.array(hits)).apply(raw)
    assert ((rated >= 0) & (rated <= 1)).all()


@pytest.mark.parametrize("points", [((0.0,), (0.0,)), ((0.0, 1.0), (0.5, 0.1)), ((0, 2), (0, 1))])
def test_a_curve_rises_within_0_and_1(points: Any) -> None:
    with pytest.raises(ValueError, match="curve"):
        Curve(*points)


def make_known(count: int, seed: int = 0) -> list[Known]:
    random = np.random.default_rng(seed)
    clips = []
    for _ in range(count):
        raw = random.random((2, 30)).astype(np.float32)
        means, spreads = gauge(random.normal(size=(3, 16, 5)).astype(np.float32))
        clips.append(Known(raw[0], raw[1], raw[0] > 0.5, means, spreads))
    return clips


def test_what_is_like_nothing_and_alike_all_over_is_unknown() -> None:
    trust = Trust.learn_words(make_known(100))
    random = np.random.default_rng(1)
    usual = random.normal(size=(3, 16, 5)).astype(np.float32)
    assert not trust.is_blind(usual)
    assert trust.is_blind(np.full((3, 16, 5), 4.0, np.float32))
    assert trust.is_blind(usual + 9)
    assert not trust.is_blind(9 * usual), "far apart, but not alike"
    turns = usual + np.array([9, -9, 9], np.float32)[:, None, None]
    assert trust.is_blind(turns), "each frame is far, though their mean is not"
    assert not trust.is_blind(np.concatenate([turns, usual[:1]])), "one frame shows something"
    few = Trust.learn_words(make_known(10))
    assert not few.is_blind(usual + 9), "ten clips do not tell what is far"


def test_sentences_are_judged_by_the_captions_of_their_clip() -> None:
    sentences = ["a dog runs", "a man runs", "there is the", "a dog"]
    assert judge(sentences, ["a dog runs", "the dog plays"]).tolist() == [1, 0.5, 0, 1]


def test_what_was_learned_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "ranking.json"
    for trust in (
        Trust.learn_words(make_known(100)).learn(make_clips(0.5)),
        replace(Trust(), weights={"fit": 2.0}),
    ):
        trust.save(path)
        assert Trust.load(path) == trust
    assert Trust.load(tmp_path / "none.json") == Trust()


def test_a_ranking_of_version_0_1_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ranking.json"
    path.write_text('{"fit": 0.5, "slope": 3.0, "offset": -1.0}')
    assert Trust.load(path) == Trust({"agreement": 3.0, "fit": 1.5}, -1.0)


@pytest.mark.parametrize(
    "content", ["[]", '{"slope": "steep"}', '{"height": 1}', '{"weights": {"beauty": 1}}']
)
def test_a_damaged_ranking_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "ranking.json"
    path.write_text(content)
    with pytest.raises(ModelError, match=r"ranking\.json"):
        Trust.load(path)
