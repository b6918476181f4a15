"""Scores equal those of the COCO caption code."""

from __future__ import annotations

import random

import pytest
from tests.metrics.jar_scores import PINNED
from tests.metrics.made_captions import REFERENCES, say

from densevidcap.errors import MissingExtraError
from densevidcap.metrics import METRICS, CaptionScorer, describe_evaluator, score_many
from densevidcap.metrics import java as jars
from densevidcap.metrics.cider import Cider
from densevidcap.metrics.ptb import tokenise_ptb

SOURCE = random.Random(0)
SETS = [{video: say(SOURCE) for video in REFERENCES} for _ in range(4)]
SETS.append({video: "..." if video == "video3" else "a man ||| sings" for video in REFERENCES})


def test_scores_equal_the_coco_code() -> None:
    scores = score_many([each["said"] for each in PINNED["sets"]], PINNED["references"])
    for ours, theirs in zip(scores, PINNED["sets"], strict=True):
        assert list(ours.overall) == list(METRICS)
        assert ours.overall == pytest.approx(theirs["overall"], abs=1e-9)
        for video in PINNED["references"]:
            assert ours.videos[video] == pytest.approx(theirs["videos"][video], abs=1e-9)


def test_the_jars_say_the_same(scorer: CaptionScorer) -> None:
    try:
        jars.find_java()
    except MissingExtraError as error:
        pytest.skip(f"no Java: {error}")
    with CaptionScorer(REFERENCES, java=True) as there:
        for ours, theirs in zip(scorer.score_many(SETS), there.score_many(SETS), strict=True):
            assert ours.overall == pytest.approx(theirs.overall, abs=1e-12)
            for video in REFERENCES:
                assert ours.videos[video] == pytest.approx(theirs.videos[video], abs=1e-12)


def test_the_order_of_videos_and_other_sets_change_nothing(scorer: CaptionScorer) -> None:
    turned = dict(reversed(SETS[1].items()))
    assert scorer.score(turned) == scorer.score_many(SETS)[1]


def test_what_the_references_say_scores_best(scorer: CaptionScorer) -> None:
    said = scorer.score({video: texts[0] for video, texts in REFERENCES.items()})
    assert said.overall["Bleu_4"] == pytest.approx(1)
    assert said.overall["METEOR"] == pytest.approx(1)
    assert said.overall["ROUGE_L"] == pytest.approx(1)


def test_predictions_must_be_of_the_references_videos(scorer: CaptionScorer) -> None:
    with pytest.raises(ValueError, match="video0"):
        scorer.score({video: "a man" for video in REFERENCES if video != "video0"})


def test_lines_stay_apart_whatever_breaks_them() -> None:
    assert tokenise_ptb(["One\r\ntwo\u2028three.", "", "Naïve\x85café"]) == [
        "one two three",
        "",
        "naïve café",
    ]


def test_cider_of_one_video_knows_no_rare_words() -> None:
    assert Cider({"v": ["a man sings"]}).score("v", "a man sings") == 0


def test_the_evaluator_is_named() -> None:
    described = describe_evaluator()
    assert described["evaluator"].startswith("pycocoevalcap 1.")
    assert described["METEOR"] == "1.5 -l en -norm"
    assert "java" not in described
