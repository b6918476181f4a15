"""The dense protocol on ranked sentences of made captions."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.made_captions import REFERENCES, say

from densevidcap.data.lexicon import list_content_words
from densevidcap.data.lsa import LatentSpace
from densevidcap.metrics import CaptionScorer
from densevidcap.metrics.content import compare_content
from densevidcap.metrics.dense import (
    PAPER_METRICS,
    DenseScores,
    diversity_at_equal_cider,
    fill,
    mix_other_clips,
    score_dense,
    trace_null_curve,
)
from densevidcap.metrics.report import hold_out

SOURCE = random.Random(1)
RANKED = {video: [say(SOURCE) for _ in range(8)] for video in REFERENCES}
FIRST = {video: sentences[0] for video, sentences in RANKED.items()}


@pytest.fixture(scope="module")
def scores(scorer: CaptionScorer, caption_space: LatentSpace) -> DenseScores:
    return score_dense(RANKED, scorer, caption_space, 6)


def test_precision_is_the_mean_of_corpus_scores(scores: DenseScores, scorer: CaptionScorer) -> None:
    by_rank = scorer.score_many(
        [{video: said[rank] for video, said in RANKED.items()} for rank in range(6)]
    )
    for top in (5, 6):
        for metric in PAPER_METRICS:
            overall = [ranked.overall[metric] for ranked in by_rank[:top]]
            assert scores.precision[top][metric] == pytest.approx(sum(overall) / top)


def test_the_oracle_bounds_what_is_a_mean_of_sentences(scores: DenseScores) -> None:
    for metric in ("ROUGE_L", "CIDEr"):
        for top in (5, 6):
            assert scores.single[top][metric] == pytest.approx(scores.precision[top][metric])
            assert scores.oracle[top][metric] >= scores.precision[top][metric]
        assert scores.best[metric] >= scores.oracle[5][metric]


def test_the_oracle_looks_at_sentences_beyond_the_top(
    scorer: CaptionScorer, caption_space: LatentSpace
) -> None:
    hidden = {video: ["x", "y", REFERENCES[video][0]] for video in REFERENCES}
    scores = score_dense(hidden, scorer, caption_space, 2)
    assert scores.oracle[2]["ROUGE_L"] > scores.best["ROUGE_L"]
    assert scores.best["ROUGE_L"] == scores.precision[2]["ROUGE_L"] == 0


def test_one_sentence_is_not_diverse(scorer: CaptionScorer, caption_space: LatentSpace) -> None:
    said = score_dense({video: [text] for video, text in FIRST.items()}, scorer, caption_space, 5)
    assert said.different == 1
    assert said.diversity == pytest.approx(0)
    first = scorer.score(FIRST).overall
    assert said.precision[5] == pytest.approx({metric: first[metric] for metric in PAPER_METRICS})


@given(st.lists(st.text(), min_size=1), st.integers(1, 20))
def test_filling_repeats_from_the_first(sentences: list[str], count: int) -> None:
    filled = fill(sentences, count)
    assert len(filled) == count
    assert filled[: len(sentences)] == sentences[:count]
    assert set(filled) == set(sentences[:count])


def test_the_null_trades_truth_for_diversity(
    scores: DenseScores, scorer: CaptionScorer, caption_space: LatentSpace
) -> None:
    null = trace_null_curve(FIRST, scorer, caption_space, 6)
    assert list(null) == [0, 2, 4]
    assert null[0].diversity == pytest.approx(0)
    assert null[0].diversity < null[2].diversity < null[4].diversity
    curve = list(null.values())
    assert diversity_at_equal_cider(null[2], curve) == pytest.approx(null[2].diversity)
    between = diversity_at_equal_cider(scores, curve)
    assert min(p.diversity for p in curve) <= between <= max(p.diversity for p in curve)


@given(st.integers(0, 4), st.integers(0, 9))
def test_strangers_are_drawn_by_seed_and_add_up(strangers: int, seed: int) -> None:
    mixed = mix_other_clips(FIRST, strangers, 6, seed)
    assert mixed == mix_other_clips(FIRST, strangers, 6, seed)
    more = mix_other_clips(FIRST, strangers + 1, 6, seed)
    for video, said in mixed.items():
        assert said[: 6 - strangers] == [FIRST[video]] * (6 - strangers)
        assert more[video][6 - strangers - 1 :][:strangers] == said[6 - strangers :]


def test_content_words_are_counted_with_and_without_repeats() -> None:
    assert list_content_words("The man is riding on a horse with her") == ["man", "riding", "horse"]
    found = compare_content(
        {"v": ["a man sings", "the man runs"]}, {"v": ["a man walks", "he runs"]}
    )
    assert (found.precision, found.said, found.found) == (3 / 4, 3, 2)


@given(st.integers(1, 3), st.integers(0, 9))
def test_held_out_sentences_are_no_references(count: int, seed: int) -> None:
    texts = {video: [f"{video} {n}" for n in range(4)] for video in ("a", "b")}
    drawn, others = hold_out(texts, count, seed)
    for video, sentences in texts.items():
        assert len(drawn[video]) == count
        assert sorted(drawn[video] + others[video]) == sentences
