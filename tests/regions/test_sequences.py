"""K region-sequences of a clip."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.regions import literal
from tests.regions.clips import DIVERGENCES, EQUAL, clips, make_clip, terms, three_terms

from densevidcap.config import RegionsConfig
from densevidcap.errors import ModelError
from densevidcap.regions import Objective, generate_sequences, pool_words
from densevidcap.regions.search import search_in_frame_order
from densevidcap.types import FrameGrid, Grid


@given(clips, terms, st.integers(1, 4))
def test_sequences_are_connected_paths_with_their_times_and_boxes(
    clip: FrameGrid, terms: dict[str, float], k: int
) -> None:
    sequences = generate_sequences(clip, RegionsConfig(k, terms))
    assert len(sequences) == (k if len(clip.grid) > 1 else 1)
    neighbours = clip.grid.neighbours()
    for sequence in sequences:
        assert sequence.source_frames is None
        assert sequence.times == tuple(clip.times)
        assert sequence.boxes[-1] == clip.grid.box(sequence.regions[-1])
        assert all(neighbours[one, other] for one, other in pairwise(sequence.regions))


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("scaling", ["clip", "paper"])
@pytest.mark.parametrize("seed", range(3))
def test_sequences_equal_the_transcription(
    seed: int, divergence: str, scaling: Literal["clip", "paper"]
) -> None:
    clip = make_clip(seed, frames=6, rows=4, columns=4, words=60, features=20)
    config = RegionsConfig(4, three_terms(divergence, 1.0, 2.0, 0.5), scaling=scaling)
    found = generate_sequences(clip, config)
    expected = literal.generate_sequences(clip, config)
    assert [[*enumerate(sequence.regions)] for sequence in found] == expected


@given(clips)
def test_the_first_sequence_does_not_depend_on_k_or_diversity(clip: FrameGrid) -> None:
    one = generate_sequences(clip, RegionsConfig(1, EQUAL | {"nearest_divergence": 0.0}))
    three = generate_sequences(clip, RegionsConfig(3, EQUAL | {"nearest_divergence": 5.0}))
    assert one[0] == three[0]


def test_a_sequence_follows_its_thing_and_the_next_one_another() -> None:
    """Two things cross a wide grid in opposite directions, in rows that do not touch."""
    frames, grid = 7, Grid(5, 7, window=1, stride=1)
    probabilities = np.full((frames, len(grid), 20), 0.01, np.float32)
    features = np.full((frames, len(grid), 3), 0.1, np.float32)
    ball, dog = list(range(frames)), [4 * 7 + 6 - t for t in range(frames)]
    for frame in range(frames):
        probabilities[frame, ball[frame], :8] = 0.9
        features[frame, ball[frame], 0] = 1
        probabilities[frame, dog[frame], 10:17] = 0.9
        features[frame, dog[frame], 1] = 1
    clip = FrameGrid(grid, np.arange(7.0), probabilities, features)
    first, second = generate_sequences(clip, RegionsConfig(k=2))
    assert list(first.regions) == ball
    assert list(second.regions) == dog


def test_words_of_a_sentence_lead_to_what_it_is_about() -> None:
    clip = make_clip(0, frames=3, rows=2, columns=2)
    clip.probabilities[:, 3, 5] = 1
    config = RegionsConfig(1, EQUAL | {"coherence": 0.0})
    (sequence,) = generate_sequences(clip, config, words=np.array([5]))
    assert sequence.regions[0] == 3


@pytest.mark.parametrize(
    ("frames", "rows", "columns"), [(1, 4, 4), (1, 1, 1), (3, 1, 9), (2, 7, 5)]
)
def test_any_grid_and_any_number_of_frames(frames: int, rows: int, columns: int) -> None:
    clip = make_clip(1, frames, rows, columns)
    sequences = generate_sequences(clip, RegionsConfig(k=3))
    count = 3 if rows * columns > 1 else 1
    assert [len(sequence.regions) for sequence in sequences] == [frames] * count


@given(clips, terms, st.integers(1, 4))
def test_one_region_a_frame_leaves_nothing_to_search(
    clip: FrameGrid, terms: dict[str, float], k: int
) -> None:
    """The one sequence is what the search finds, however many are asked for."""
    alone = FrameGrid(Grid(1, 1, 1, 1), clip.times, clip.probabilities[:, :1], clip.features[:, :1])
    config = RegionsConfig(k, terms)
    (sequence,) = generate_sequences(alone, config)
    found = search_in_frame_order(Objective(alone, config))
    assert tuple(region for _, region in sorted(found.sites)) == sequence.regions
    assert sequence.times == tuple(clip.times)


def test_a_clip_in_which_nothing_is_seen_still_has_sequences() -> None:
    clip = make_clip(0)
    clip.probabilities[:] = 0
    clip.features[:] = 0
    sequences = generate_sequences(clip, RegionsConfig(k=2))
    assert [sequence.regions for sequence in sequences] == [(0, 0, 0, 0), (1, 1, 1, 1)]


@given(clips, terms, st.sampled_from(["frame-order", "every-start"]))
def test_as_many_sequences_as_regions_are_all_different(
    clip: FrameGrid, terms: dict[str, float], search: str
) -> None:
    nearest = three_terms("nearest_divergence", *terms.values())
    sequences = generate_sequences(clip, RegionsConfig(len(clip.grid), nearest, search=search))
    assert len({sequence.regions for sequence in sequences}) == len(clip.grid)


def test_sequences_repeat_against_all_and_do_not_against_the_nearest() -> None:
    """Two things stand still in a clip of which the rest shows little."""
    clip = make_clip(0, frames=4, rows=1, columns=5, words=6)
    clip.probabilities[:] = 0.01
    clip.probabilities[:, 0, :3] = clip.probabilities[:, 4, 3:] = 0.8
    clip.features[:] = np.eye(5)
    found: dict[str, list[int]] = {"divergence": [], "nearest_divergence": []}
    for divergence, regions in found.items():
        terms = three_terms(divergence, 1.0, 1.0, 8.0)
        for sequence in generate_sequences(clip, RegionsConfig(3, terms)):
            (region,) = set(sequence.regions)
            regions.append(region)
    assert found == {"divergence": [0, 4, 0], "nearest_divergence": [0, 4, 1]}


def test_clip_scaling_does_not_depend_on_the_lexicon_being_repeated() -> None:
    clip = make_clip(3, frames=5, rows=3, columns=3, words=30)
    twice = FrameGrid(clip.grid, clip.times, np.tile(clip.probabilities, 2), clip.features)
    assert generate_sequences(clip) == generate_sequences(twice)


@given(clips)
def test_pooled_words_are_those_that_the_objective_saw(clip: FrameGrid) -> None:
    (sequence,) = generate_sequences(clip, RegionsConfig(k=1))
    objective = Objective(clip)
    subset = objective.empty()
    for frame, region in enumerate(sequence.regions):
        subset = objective.extend(subset, frame, np.array([region])).take(0)
    np.testing.assert_array_equal(pool_words([sequence], clip)[0], subset.pooled)


def test_senseless_settings_are_refused() -> None:
    with pytest.raises(ModelError, match="k must be 1 or more"):
        RegionsConfig(k=0)
    with pytest.raises(ModelError, match=r"no search 'magic' .* there are frame-order"):
        generate_sequences(make_clip(0), RegionsConfig(search="magic"))
