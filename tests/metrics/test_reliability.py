"""Right and known to be right: what the figures promise, and cases counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.export.made_captions import make_caption

from densevidcap.data.boxes import BoxFile, Thing
from densevidcap.data.lexicon import find_precision
from densevidcap.errors import CorpusError
from densevidcap.metrics.reliability import (
    find_auc,
    measure_reliability,
    measure_things,
)
from densevidcap.types import Caption

REFERENCES = {
    "a": ["a dog runs over grass", "the dog plays"],
    "b": ["a man sings", "a man with a guitar sings"],
    "c": ["a black screen", "nothing is seen"],
}
scores = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30)


def say(text: str, confidence: float = 0.5) -> Caption:
    return make_caption(text, confidence=confidence)


def test_a_sentence_is_as_right_as_its_words() -> None:
    known = frozenset({"dog", "runs", "grass"})
    assert find_precision("a dog runs on the grass", known) == 1
    assert find_precision("a dog sleeps", known) == 0.5
    assert find_precision("it is on", known) == 0


@given(scores)
def test_auc_is_the_share_of_pairs_in_order(rows: list[tuple[int, bool]]) -> None:
    values, positive = np.array([float(v) for v, _ in rows]), np.array([p for _, p in rows])
    pairs = [
        1.0 if high > low else 0.5 if high == low else 0.0
        for high in values[positive]
        for low in values[~positive]
    ]
    found = find_auc(values, positive)
    assert found == (pytest.approx(np.mean(pairs)) if pairs else None)


def test_shares_are_of_sentences_and_silence_is_counted() -> None:
    said = {
        "a": [say("a dog runs", 0.9), say("a cat runs", 0.4), say("a cat sleeps", 0.1)],
        "b": [say("a man sings a song", 0.6)],
        "c": [],
    }
    found = measure_reliability(said, REFERENCES)
    ours = found.shares["sentences"]
    assert (found.clips, found.silent, found.sentences) == (3, 1, 4 / 3)
    assert found.length == pytest.approx((2 + 2 + 2 + 3) / 4)
    assert ours.precision.mean == pytest.approx((1 + 0.5 + 0 + 2 / 3) / 4)
    assert (ours.right.mean, ours.bad.mean) == (0.25, 0.5)
    surer = found.shares["surer half"]
    assert (surer.right.mean, surer.bad.mean) == (0.5, 0)
    assert found.auc == 1
    # Four sentences, each a part of its own.
    assert [part.said for part in found.parts] == [0.1, 0.4, 0.6, 0.9]
    assert [part.true for part in found.parts] == [0, 0, 0, 1]
    assert found.calibration_error == pytest.approx((0.1 + 0.4 + 0.6 + 0.1) / 4)
    # "dog plays", of which only the dog is in the other; and so on.
    assert found.shares["people"].precision.mean == pytest.approx(
        np.mean([1 / 3, 1 / 2, 1, 2 / 3, 0, 0])
    )
    assert found.shares['"a man"'].right.mean == pytest.approx(1 / 3)


def test_where_nothing_is_said_nothing_is_measured() -> None:
    with pytest.raises(CorpusError, match="nothing is said"):
        measure_reliability({"a": []}, REFERENCES)


def test_things_are_covered_boxed_told_and_invented() -> None:
    caption = say("a dog and a cat with a man")
    frame = (caption.sequence.source_frames or ())[0]
    box = caption.boxes[0]
    edges = (box.left, box.top, box.right, box.bottom)
    far = (0.0, 0.0, 0.01, 0.01)
    clips = {
        "a": {
            frame: [Thing("dog", 0.9, edges), Thing("car", 0.8, far), Thing("person", 0.9, far)],
            frame + 1: [Thing("cat", 0.35, far)],
        }
    }
    truth = BoxFile(Path("boxes.json"), clips)
    found = measure_things({"a": [caption, say("a horse")]}, REFERENCES, truth)
    # Dog and car are surely there; dog, cat and horse are named, and nobody sees the horse.
    assert (found.there, found.named) == (2, 3)
    assert (found.covered, found.boxed, found.told) == (0.5, 0.5, 0.5)
    assert found.invented == pytest.approx(1 / 3)
    clips["a"][frame] = [Thing("dog", 0.9, far)]
    moved = measure_things({"a": [caption]}, REFERENCES, BoxFile(Path("boxes.json"), clips))
    assert (moved.covered, moved.boxed) == (1, 0)
    assert measure_things({"c": []}, REFERENCES, truth).invented is None
