"""The evaluator that is solved for: what a sentence's CIDEr is expected to be."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.models.small_captioners import make_captioner
from tests.models.small_examples import THINGS
from tests.models.small_views import make_view

from densevidcap.config import EvaluatorConfig
from densevidcap.data.phrases import LONGEST, Phrases, list_phrases
from densevidcap.errors import ModelError
from densevidcap.model_folder import save_model
from densevidcap.models.evaluator import load_evaluator
from densevidcap.models.evaluator_network import NetworkEvaluator
from densevidcap.models.evaluator_regression import (
    EXPECTED,
    KIND,
    PHRASES,
    RegressionEvaluator,
    describe_look,
)
from densevidcap.models.views import ClipView

CLIPS = 12
EXACT = EvaluatorConfig(kind="regression", ridge=1e-6, sharpness=5.0, least_clips=1)
"""What is known of a clip of the corpus is what was said of it."""

words = st.sampled_from([*THINGS, "a", "and", "there", "zeppelin"])
sentences = st.lists(words, min_size=1, max_size=6).map(" ".join)


def make_corpus() -> tuple[list[ClipView], list[list[str]]]:
    """Clips of different looks, each with two captions."""
    views = [make_view(3, seed=number) for number in range(CLIPS)]
    captions = []
    for number in range(CLIPS):
        first, second = THINGS[number % 7], THINGS[(2 * number + 1) % 7]
        captions.append([f"a {first} and a {second}", f"a {second} is there"])
    return views, captions


def fit(config: EvaluatorConfig = EXACT) -> RegressionEvaluator:
    views, captions = make_corpus()
    return RegressionEvaluator.fit([describe_look(view) for view in views], captions, config)


EVALUATOR = fit()
PLACE = Phrases.count(make_corpus()[1])


def cosine(sentence: str, other: str, size: int) -> float:
    """Of their phrases of that size by count and rarity, as CIDEr has it, by the letter."""
    _, captions = make_corpus()

    def weigh(text: str) -> dict[str, float]:
        counts = Counter(list_phrases(text.split(), size))
        having = {
            p: sum(any(p in list_phrases(c.split(), size) for c in said) for said in captions)
            for p in counts
        }
        # Phrases that only one clip has count as those that none has.
        return {p: n * log(CLIPS / (having[p] or 1)) for p, n in counts.items()}

    one, two = weigh(sentence), weigh(other)
    norms = [sqrt(sum(v**2 for v in each.values())) for each in (one, two)]
    known = [p for p in one if p in two and PLACE.knows(p)]
    return sum(one[p] * two[p] for p in known) / (norms[0] * norms[1]) if all(norms) else 0.0


@given(said=sentences, clip=st.integers(0, CLIPS - 1))
def test_of_a_clip_that_is_known_it_is_the_mean_of_cosines(said: str, clip: int) -> None:
    views, captions = make_corpus()
    (score,) = EVALUATOR.score(views[clip], [said])
    of_each = [
        sum(cosine(said, caption, size) for size in range(1, LONGEST + 1)) / LONGEST
        for caption in captions[clip]
    ]
    assert score == pytest.approx(np.mean(of_each), abs=1e-3)


def test_people_s_own_sentences_fit_best() -> None:
    views, captions = make_corpus()
    scores = EVALUATOR.score_clips(views, [said[0] for said in captions])
    assert scores.shape == (CLIPS, CLIPS)
    # Some clips were told of in the same words.
    assert (np.diag(scores) >= scores.max(axis=1) - 1e-3).all()
    # Of one clip's first caption no other clip has a phrase.
    assert (np.diag(scores) > scores.mean(axis=1) + 0.2).sum() == CLIPS - 1


def test_of_what_is_like_nothing_it_expects_what_is_always_said() -> None:
    view = make_view(3, seed=99)
    far = replace(view, features=view.features + 1000)
    expected = EVALUATOR.expect(far)
    means = torch.stack([EVALUATOR.expect(view) for view in make_corpus()[0]]).mean(0)
    torch.testing.assert_close(expected, means, atol=1e-3, rtol=0)


def test_a_ridge_holds_it_at_the_mean() -> None:
    views, _ = make_corpus()
    mean = torch.stack([EVALUATOR.expect(view) for view in views]).mean(0)
    away = [
        float((fit(replace(EXACT, ridge=ridge)).expect(views[0]) - mean).norm())
        for ridge in (0.01, 1.0, 100.0)
    ]
    assert away[0] > away[1] > away[2]


def test_fewer_directions_keep_less() -> None:
    views, captions = make_corpus()
    own = [
        fit(replace(EXACT, rank=rank)).score_clips(views, [said[0] for said in captions])
        for rank in (1, 6, 100)
    ]
    exact = EVALUATOR.score_clips(views, [said[0] for said in captions])
    errors = [float(np.abs(each - exact).mean()) for each in own]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] == pytest.approx(0, abs=1e-5)


def test_order_and_company_of_sentences_do_not_matter() -> None:
    view = make_view(2, seed=4)
    said = ["a dog", "a cat and a boat", "nothing known at all", ""]
    scores = EVALUATOR.score(view, said)
    np.testing.assert_allclose(EVALUATOR.score(view, said[::-1]), scores[::-1], atol=1e-6)
    assert scores[2] == scores[3] == 0
    assert EVALUATOR.score(view, []).shape == (0,)


def test_whole_frames_count_where_there_are_any() -> None:
    view = make_view(2)
    vectors = np.ones((2, 4), np.float32)
    assert len(describe_look(replace(view, frame_vectors=vectors))) == len(describe_look(view)) + 4


def test_what_is_the_same_in_all_clips_changes_nothing() -> None:
    views, captions = make_corpus()
    looks = [np.append(describe_look(view), 3.0).astype(np.float32) for view in views]
    evaluator = RegressionEvaluator.fit(looks, captions, EXACT)
    vectors = np.full((3, 1), 3.0, np.float32)
    seen = evaluator.expect(replace(views[2], frame_vectors=vectors))
    torch.testing.assert_close(seen, EVALUATOR.expect(views[2]), atol=0.02, rtol=0)


def test_a_saved_one_says_the_same(tmp_path: Path) -> None:
    view, said = make_view(3, seed=5), ["a dog and a cat", "a zeppelin", "a boat is there"]
    EVALUATOR.save(tmp_path / "whole", {"licence": "Apache-2.0"})
    loaded = load_evaluator(tmp_path / "whole")
    assert isinstance(loaded, RegressionEvaluator)
    assert loaded.inputs is None
    np.testing.assert_allclose(loaded.score(view, said), EVALUATOR.score(view, said), atol=1e-6)
    EVALUATOR.save(tmp_path / "half", {}, half=True)
    half = load_evaluator(tmp_path / "half")
    np.testing.assert_allclose(half.score(view, said), EVALUATOR.score(view, said), atol=0.02)


def test_other_folders_are_refused(tmp_path: Path) -> None:
    make_captioner().save(tmp_path / "captioner", {})
    for load in (load_evaluator, RegressionEvaluator.load):
        with pytest.raises(ModelError, match="holds a captioner, not an evaluator"):
            load(tmp_path / "captioner")
    EVALUATOR.save(tmp_path / "own", {})
    with pytest.raises(ModelError, match=f"holds a {KIND}, not an evaluator"):
        NetworkEvaluator.load(tmp_path / "own")


@pytest.mark.parametrize("wrong", ["mean", "weights", "directions", "centre"])
def test_numbers_that_do_not_fit_are_refused(tmp_path: Path, wrong: str) -> None:
    EVALUATOR.save(tmp_path, {})
    tensors = {name: tensor.clone() for name, tensor in EVALUATOR.tensors.items()}
    tensors[wrong] = tensors[wrong][:-1]
    card = {"kind": KIND, "evaluator": {"kind": "regression"}}
    save_model(tmp_path, tensors, card, (PHRASES, EXPECTED))
    with pytest.raises(ModelError, match="does not fit its card") as caught:
        load_evaluator(tmp_path)
    assert "\n" not in str(caught.value)


def test_of_captions_without_anything_in_common_nothing_is_expected(tmp_path: Path) -> None:
    views = make_corpus()[0][:2]
    looks = [describe_look(view) for view in views]
    RegressionEvaluator.fit(looks, [["alpha"], ["beta"]], EXACT).save(tmp_path, {})
    evaluator = load_evaluator(tmp_path)
    np.testing.assert_array_equal(evaluator.score(views[0], ["alpha", "gamma"]), [0, 0])


@pytest.mark.parametrize(
    ("name", "value"), [("rank", 0), ("least_clips", 0), ("ridge", 0.0), ("sharpness", -1.0)]
)
def test_settings_that_make_no_sense(name: str, value: Any) -> None:
    with pytest.raises(ModelError, match=name):
        EvaluatorConfig(**{name: value})
