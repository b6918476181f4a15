"""Winner-takes-all."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from tests.regions import literal
from tests.regions.clips import clips, make_clip

from densevidcap.regions import SequenceOptions, associate, generate_sequences
from densevidcap.types import FrameGrid


@given(clips)
def test_scores_equal_the_transcription(clip: FrameGrid) -> None:
    sequences = generate_sequences(clip, SequenceOptions(k=3))
    sentences = [np.array([0, 2]), np.array([1, 3, 5]), np.array([], dtype=int)]
    association = associate(sentences, sequences, clip)
    expected = [
        [literal.f_inf(clip, [*enumerate(sequence.regions)], words) for sequence in sequences]
        for words in sentences
    ]
    np.testing.assert_allclose(association.scores, expected, atol=1e-5)
    np.testing.assert_array_equal(association.winners, np.argmax(association.scores, axis=1))
    np.testing.assert_array_equal(association.supported, np.max(expected, axis=1) > 0)


def test_a_word_below_the_threshold_counts_nothing() -> None:
    clip = make_clip(0, frames=2, rows=1, columns=1, words=3)
    clip.probabilities[:, 0] = [[0.05, 0.3, 0.1], [0.09, 0.2, 0.02]]
    sequences = generate_sequences(clip, SequenceOptions(k=1))
    association = associate([np.array([0]), np.array([0, 1, 2])], sequences, clip)
    np.testing.assert_allclose(association.scores[:, 0], [0, 0.4], atol=1e-6)
    assert association.supported.tolist() == [False, True]
    assert association.winners.tolist() == [0, 0]


def test_no_sentences_are_associated_with_nothing() -> None:
    clip = make_clip(0)
    association = associate([], generate_sequences(clip, SequenceOptions(k=2)), clip)
    assert association.winners.shape == (0,)
