"""What is measured of an evaluator's scores, and what its confidence is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.metrics.cider import Consensus
from densevidcap.metrics.retrieval import (
    agree,
    area_under_curve,
    rank_captions,
    rank_clips,
    recall,
    split_own,
)
from densevidcap.pipeline.confidence import fit_logistic
from densevidcap.types import FloatArray

few_scores = st.lists(st.integers(-4, 4).map(lambda n: n / 4), min_size=1, max_size=12).map(
    lambda values: np.array(values, np.float32)
)
seeds = st.integers(0, 10_000)


@given(seed=seeds, clips=st.integers(2, 5), captions=st.integers(1, 3))
def test_ranks_count_those_that_come_before(seed: int, clips: int, captions: int) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(0, 4, (clips * captions, clips)).astype(np.float32)
    owners = np.repeat(np.arange(clips), captions)
    for row, rank in enumerate(rank_clips(scores, owners)):
        others = np.delete(scores[row], owners[row])
        assert rank == (others >= scores[row, owners[row]]).sum()
    for clip, rank in enumerate(rank_captions(scores, owners)):
        own = owners == clip
        assert rank == (scores[~own, clip] >= scores[own, clip].max()).sum()
    own_scores, other_scores = split_own(scores, owners)
    assert (len(own_scores), len(other_scores)) == (len(owners), len(owners) * (clips - 1))
    assert own_scores.sum() + other_scores.sum() == pytest.approx(scores.sum())


def test_recall_is_in_percent() -> None:
    assert recall(np.array([0, 4, 5, 10]), "clip") == {
        "clip_at_1": 25,
        "clip_at_5": 50,
        "clip_at_10": 75,
    }


@given(own=few_scores, other=few_scores)
def test_area_under_the_curve_is_the_share_of_pairs_in_order(
    own: FloatArray, other: FloatArray
) -> None:
    pairs = np.sign(own[:, None] - other)
    assert area_under_curve(own, other) == pytest.approx((pairs.mean() + 1) / 2)


@given(worth=few_scores)
def test_agreement_is_whole_with_itself_none_with_its_opposite(worth: FloatArray) -> None:
    if len(set(worth.tolist())) == 1:
        assert np.isnan(agree(worth, worth))
    else:
        assert agree(3 * worth, worth) == 1
        assert agree(-worth, worth) == 0
        assert agree(np.zeros_like(worth), worth) == 0.5


@given(slope=st.floats(2, 20), offset=st.floats(-3, 3), seed=seeds)
def test_calibration_finds_the_odds_again(slope: float, offset: float, seed: int) -> None:
    """Of scores whose truth is drawn by these very odds."""
    random = np.random.default_rng(seed)
    scores = random.uniform(-1, 1, 20_000).astype(np.float32)
    truth = random.random(len(scores)) < 1 / (1 + np.exp(-slope * scores - offset))
    (found,), at = fit_logistic(scores[:, None], truth, 0.0)
    assert found == pytest.approx(slope, rel=0.15)
    assert at == pytest.approx(offset, abs=0.3)


CAPTIONS = {
    "one": ["a dog runs over the grass", "a dog is running", "a brown dog runs on grass"],
    "two": ["a man plays the guitar", "a man is playing music", "somebody plays a guitar"],
    "lone": ["two boats on a lake"],
}


def test_a_sentence_is_worth_what_people_agree_on() -> None:
    consensus = Consensus(CAPTIONS)
    assert consensus.weigh("lone", "Two boats, on a lake!") == pytest.approx(10)
    assert consensus.weigh("lone", "zeppelin") == 0
    common, special = (consensus.weigh("one", said) for said in ("a dog runs", "a brown dog"))
    assert common > special > consensus.weigh("two", "a dog runs")
