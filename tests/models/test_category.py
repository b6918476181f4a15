"""P(category | clip)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.models.small_captioners import make_captioner
from tests.models.small_views import FEATURES, WORDS, make_view

from densevidcap.config import OptimisationConfig
from densevidcap.errors import CorpusError, ModelError
from densevidcap.model_folder import save_model
from densevidcap.models.category import CategoryClassifier, CategoryTask, mark_category
from densevidcap.models.views import ClipView
from densevidcap.train.loop import TrainingLoop

CATEGORIES = ("cooking", "music", "sports")


def make_classifier(categories: tuple[str, ...] = CATEGORIES, seed: int = 0) -> CategoryClassifier:
    torch.manual_seed(seed)
    return CategoryClassifier(categories, FEATURES, WORDS)


def make_clips(count: int) -> list[tuple[ClipView, str]]:
    """Of each category in turn, which one of the words tells."""
    clips = []
    for number in range(count):
        view = make_view(frames=1 + number % 4, categories=0, seed=number)
        place = number % len(CATEGORIES)
        words = view.clip_words * 0.1
        words[place] = 0.9
        clips.append((replace(view, clip_words=words), CATEGORIES[place]))
    return clips


@given(seed=st.integers(0, 1000), frames=st.integers(1, 5), categories=st.integers(1, 3))
def test_probabilities_sum_to_one(seed: int, frames: int, categories: int) -> None:
    classifier = make_classifier(CATEGORIES[:categories], seed)
    probabilities = classifier.classify(make_view(frames, seed=seed))
    assert probabilities.shape == (categories,)
    assert (probabilities >= 0).all()
    assert probabilities.sum() == pytest.approx(1, abs=1e-6)


def test_a_category_is_learned(tmp_path: Path) -> None:
    clips = make_clips(60)
    task = CategoryTask(make_classifier(), clips[:45], clips[45:])
    options = OptimisationConfig(epochs=15, learning_rate=0.1)
    history = TrainingLoop(task, options, tmp_path).train()
    assert history[-1]["accuracy"] > 80
    assert CategoryTask(make_classifier(), clips, []).validate() == {}


def test_an_epoch_has_every_clip_once_and_is_always_the_same() -> None:
    clips = make_clips(70)
    task = CategoryTask(make_classifier(), clips, [])
    first, again = (list(task.batches(2)) for _ in range(2))
    assert len(first) == task.steps_per_epoch() == 2
    assert all(torch.equal(a.features, b.features) for a, b in zip(first, again, strict=True))
    seen = torch.cat([batch.features for batch in first])
    assert sorted(seen.tolist()) == sorted(task.data.features.tolist())


def test_a_saved_classifier_says_the_same(tmp_path: Path) -> None:
    classifier, view = make_classifier(), make_view(3)
    classifier.save(tmp_path / "category", {"licence": "Apache-2.0"})
    loaded = CategoryClassifier.load(tmp_path / "category")
    assert loaded.categories == CATEGORIES
    np.testing.assert_array_equal(loaded.classify(view), classifier.classify(view))


def test_other_folders_are_refused(tmp_path: Path) -> None:
    make_captioner().save(tmp_path / "captioner", {})
    with pytest.raises(ModelError, match="holds a captioner, not a category classifier"):
        CategoryClassifier.load(tmp_path / "captioner")
    card = {"kind": "category", "categories": ["news"], "sizes": [FEATURES, WORDS]}
    save_model(tmp_path / "odd", make_classifier().state_dict(), card)
    with pytest.raises(ModelError, match="odd: card and weights do not fit") as caught:
        CategoryClassifier.load(tmp_path / "odd")
    assert "\n" not in str(caught.value)


def test_a_known_category_is_certain_and_a_strange_one_unknown() -> None:
    view = make_view(2, categories=0)
    assert mark_category(view, CATEGORIES, "music").category == pytest.approx([0, 1, 0])
    for stranger in ("news", None):
        assert mark_category(view, CATEGORIES, stranger).category is None


def test_nothing_to_learn_is_refused() -> None:
    with pytest.raises(CorpusError, match="no clip with a category"):
        CategoryTask(make_classifier(), [], make_clips(3))
