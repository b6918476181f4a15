"""Scores and confidences of sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.small_captioners import make_captioner
from tests.models.small_examples import THINGS, make_evaluator
from tests.models.small_views import REGIONS, make_view

from densevidcap.config import EvaluatorConfig
from densevidcap.errors import CorpusError, ModelError
from densevidcap.model_folder import save_model
from densevidcap.models.evaluator_network import VOCABULARY, NetworkEvaluator, gather

EVALUATOR = make_evaluator()

words = st.sampled_from([*THINGS, "a", "the", "and", "zeppelin", "überall"])
sentences = st.lists(st.lists(words, min_size=1, max_size=12).map(" ".join), min_size=1, max_size=6)


@given(said=sentences, seed=st.integers(0, 99), frames=st.integers(1, 4))
def test_scores_are_cosines(said: list[str], seed: int, frames: int) -> None:
    evaluator, view = make_evaluator(seed), make_view(frames, seed=seed)
    for sequences in (None, [seed % REGIONS] * len(said)):
        scores = evaluator.score(view, said, sequences)
        assert scores.shape == (len(said),)
        assert (abs(scores) <= 1).all()


@given(said=sentences, data=st.data())
def test_a_score_depends_on_its_own_sentence_alone(said: list[str], data: st.DataObject) -> None:
    """Neither on the order, nor on how long the others are."""
    view = make_view(3)
    sequences = data.draw(
        st.lists(st.integers(0, REGIONS - 1), min_size=len(said), max_size=len(said))
    )
    order = data.draw(st.permutations(range(len(said))))
    scores = EVALUATOR.score(view, said, sequences)
    shuffled = EVALUATOR.score(view, [said[n] for n in order], [sequences[n] for n in order])
    np.testing.assert_allclose(shuffled, scores[list(order)], atol=1e-5)
    for place, sentence in enumerate(said):
        alone = EVALUATOR.score(view, [sentence], [sequences[place]])
        np.testing.assert_allclose(alone, scores[[place]], atol=1e-5)


def test_the_region_sequence_counts_if_it_is_named() -> None:
    view = make_view(3)
    said = ["a dog and a cat"] * REGIONS
    of_clip = EVALUATOR.score(view, said)
    of_sequences = EVALUATOR.score(view, said, range(REGIONS))
    np.testing.assert_allclose(of_clip, of_clip[0], atol=1e-6)
    assert len(set(of_sequences.tolist())) == REGIONS


def test_what_sets_sequences_apart_is_relative_to_their_clip() -> None:
    view = make_view(3)
    evidence = gather(view)
    np.testing.assert_allclose(evidence["special_words"].mean(axis=0), 0, atol=1e-3)
    # Together the sequences of such a view are in every region of every frame.
    np.testing.assert_allclose(evidence["centred"].mean(axis=0), 0, atol=1e-3)


@pytest.mark.parametrize("empty", ["", "  ", "?!"])
def test_a_sentence_without_words_is_refused(empty: str) -> None:
    with pytest.raises(CorpusError, match="a sentence without words has no score; leave it out"):
        EVALUATOR.score(make_view(2), ["a dog", empty])


def test_no_sentences_have_no_scores() -> None:
    assert EVALUATOR.score(make_view(2), []).shape == (0,)


def test_every_sentence_needs_its_sequence() -> None:
    with pytest.raises(ValueError, match="2 sentences need as many sequences"):
        EVALUATOR.score(make_view(2), ["a dog", "a cat"], [1])


def test_a_saved_evaluator_says_the_same(tmp_path: Path) -> None:
    said, view = ["a dog and a cat", "a zeppelin"], make_view(3)
    EVALUATOR.save(tmp_path / "evaluator", {"licence": "Apache-2.0"})
    loaded = NetworkEvaluator.load(tmp_path / "evaluator")
    scores = EVALUATOR.score(view, said, [0, 1])
    np.testing.assert_array_equal(loaded.score(view, said, [0, 1]), scores)

    EVALUATOR.save(tmp_path / "half", {}, half=True)
    np.testing.assert_allclose(
        NetworkEvaluator.load(tmp_path / "half").score(view, said, [0, 1]), scores, atol=0.01
    )


def test_other_folders_are_refused(tmp_path: Path) -> None:
    make_captioner().save(tmp_path / "captioner", {})
    with pytest.raises(ModelError, match="holds a captioner, not an evaluator"):
        NetworkEvaluator.load(tmp_path / "captioner")
    EVALUATOR.network.vocabulary.save(tmp_path / VOCABULARY)
    save_model(tmp_path, EVALUATOR.network.state_dict(), {"kind": "evaluator", "sizes": [1]})
    with pytest.raises(ModelError, match="card and weights do not fit") as caught:
        NetworkEvaluator.load(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("width", 0), ("hidden", 0), ("embedding", 0), ("dropout", 1.0), ("sequence_dropout", -0.1)],
)
def test_sizes_that_cannot_work_are_refused(name: str, value: float) -> None:
    with pytest.raises(ModelError, match=f"{name} .* not {value}"):
        EvaluatorConfig(**{name: value})  # type: ignore[arg-type]
