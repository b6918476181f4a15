"""The ranking: what it learns from held-out clips, and that confidence goes by worth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pipeline.small_model import make_candidates

from densevidcap.errors import ModelError
from densevidcap.metrics.cider import Consensus
from densevidcap.pipeline.confidence import Judged, Ranking, Worth, fit_logistic, judge

CLIPS, SENTENCES = 60, 10


def make_clips(helps: float, seed: int = 0) -> list[Judged]:
    """Value is agreement, `helps` times the evaluator's score, and some noise."""
    random = np.random.default_rng(seed)
    clips = []
    for _ in range(CLIPS):
        agreement, fit = random.uniform(0, 0.6, (2, SENTENCES)).astype(np.float32)
        worth = agreement + helps * fit
        value = worth + random.normal(scale=0.05, size=SENTENCES)
        share = 1 / (1 + np.exp(-(5 * worth - 2)))
        confirmed = random.binomial(4, share) / 4
        found = make_candidates(("a dog",) * SENTENCES, 1, random)
        found = replace(found, quality=agreement, fit=fit)
        clips.append((found, Worth(value.astype(np.float32), confirmed.astype(np.float32))))
    return clips


@pytest.mark.parametrize("helps", [0.3, 1.0])
def test_an_evaluator_that_helps_is_heard_as_far_as_it_does(helps: float) -> None:
    assert Ranking.learn(make_clips(helps)).fit == pytest.approx(helps, rel=0.15)


def test_an_evaluator_that_misleads_is_not_heard() -> None:
    assert Ranking.learn(make_clips(-0.5)).fit == 0


def test_confidence_is_the_share_that_is_confirmed() -> None:
    ranking = Ranking.learn(make_clips(0.5))
    unseen = make_clips(0.5, seed=1)
    confidence = np.concatenate([ranking.rate(found.quality, found.fit) for found, _ in unseen])
    confirmed = np.concatenate([worth.confirmed for _, worth in unseen])
    for part in np.array_split(np.argsort(confidence), 5):
        assert confidence[part].mean() == pytest.approx(confirmed[part].mean(), abs=0.08)


def test_confidence_never_falls_as_worth_grows() -> None:
    """Not even where people confirm the worse sentences more."""
    turned = [(found, Worth(worth.value, 1 - worth.confirmed)) for found, worth in make_clips(0.5)]
    ranking = Ranking.learn(turned)
    assert ranking.slope == 0
    assert np.ptp(ranking.rate(turned[0][0].quality, turned[0][0].fit)) == 0


def test_what_all_sentences_of_a_clip_share_decides_nothing() -> None:
    clips, random = make_clips(0.5), np.random.default_rng(1)
    raised = []
    for found, worth in clips:
        quality, fit, value = random.normal(scale=3, size=3).astype(np.float32)
        found = replace(found, quality=found.quality + quality, fit=found.fit + fit)
        raised.append((found, Worth(worth.value + value, worth.confirmed)))
    assert Ranking.learn(raised).fit == pytest.approx(Ranking.learn(clips).fit, rel=1e-3)


@given(st.floats(-40, 40, width=32), st.floats(-40, 40, width=32))
def test_confidence_is_a_sigmoid_of_worth(quality: float, fit: float) -> None:
    found = Ranking(0.5, 3.0, -1.0).rate(
        np.array([quality], np.float32), np.array([fit], np.float32)
    )
    expected = 1 / (1 + np.exp(-(3 * (quality + 0.5 * fit) - 1)))
    assert found == pytest.approx(expected, abs=1e-6)


@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_the_likeliest_sigmoid_has_no_slope_left(seed: int) -> None:
    random = np.random.default_rng(seed)
    scores, targets = random.normal(size=30), random.random(30)
    weights = random.uniform(0.1, 1, 30)
    slope, offset = fit_logistic(scores, targets, weights / weights.sum())
    missed = weights / weights.sum() * (1 / (1 + np.exp(-slope * scores - offset)) - targets)
    assert missed.sum() == pytest.approx(0, abs=1e-4)
    assert (missed * scores).sum() == pytest.approx(0, abs=1e-4)


@given(st.lists(st.floats(0, 1, width=32), min_size=2, max_size=9, unique=True))
def test_confidence_ranks_by_agreement_without_an_evaluator(agreement: list[float]) -> None:
    rated = Ranking().rate(np.array(agreement, np.float32), np.zeros(len(agreement), np.float32))
    assert ((rated >= 0) & (rated <= 1)).all()
    assert (np.diff(rated[np.argsort(agreement)]) >= 0).all()


def test_sentences_are_judged_by_the_captions_of_their_clip() -> None:
    captions = {"one": ["a dog runs", "the dog plays"], "two": ["a man cooks"]}
    sentences = ["a dog runs", "a man runs", "there is the", "a dog"]
    judged = judge(sentences, "one", captions["one"], Consensus(captions))
    assert judged.confirmed.tolist() == [1, 0.5, 0, 1]
    assert judged.value.argmax() == 0


def test_sentences_are_sorted_by_confidence() -> None:
    found = make_candidates(("a", "b", "c"), 2, np.random.default_rng(0))
    found = replace(found, quality=np.array([0.1, 0.3, 0.2], np.float32))
    assert Ranking(fit=0.0).sort(found) == ["b", "c", "a"]
    found = replace(found, fit=np.array([0.9, 0.1, 0.2], np.float32))
    assert Ranking(fit=1.0).sort(found) == ["a", "b", "c"]


def test_of_equally_good_sentences_the_first_comes_first() -> None:
    names = tuple(map(str, range(99)))
    found = make_candidates(names, 2, np.random.default_rng(0))
    quality = np.arange(99, dtype=np.float32) % 2
    ranked = Ranking(fit=0.0).sort(replace(found, quality=quality))
    assert ranked == [*names[1::2], *names[::2]]


def test_a_ranking_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    ranking = Ranking(0.25, 3.5, -1.0)
    ranking.save(tmp_path / "ranking.json")
    assert Ranking.load(tmp_path / "ranking.json") == ranking
    assert Ranking.load(tmp_path / "none.json") == Ranking()


@pytest.mark.parametrize("content", ["[]", '{"slope": "steep"}', '{"height": 1}'])
def test_a_damaged_ranking_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "ranking.json"
    path.write_text(content)
    with pytest.raises(ModelError, match=r"ranking\.json"):
        Ranking.load(path)
