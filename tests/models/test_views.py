"""A clip's region-sequences as streams."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.models.small_views import FEATURES, WORDS, make_view

from densevidcap.config import RegionsConfig
from densevidcap.errors import ModelError
from densevidcap.models.streams import (
    FRAME_STREAMS,
    WHOLE_STREAMS,
    Row,
    StreamOptions,
    look,
    make_streams,
    spread_evenly,
    view_clip,
)
from densevidcap.regions import generate_sequences
from densevidcap.types import FrameGrid, Grid

frame_counts = st.lists(st.integers(1, 6), min_size=1, max_size=4)


@given(count=st.integers(1, 60), data=st.data())
def test_frames_are_spread_evenly(count: int, data: st.DataObject) -> None:
    chosen = data.draw(st.integers(1, count))
    frames = spread_evenly(count, chosen)
    assert len(frames) == chosen
    assert frames.min() >= 0
    assert frames.max() < count
    assert (np.diff(frames) >= count // chosen).all()
    if chosen == count:
        np.testing.assert_array_equal(frames, np.arange(count))


@given(frames=st.integers(1, 12), most=st.integers(1, 15))
def test_every_sequence_is_looked_at_in_the_same_frames(frames: int, most: int) -> None:
    view = make_view(frames)
    rows = look(view, most=most)
    assert [row.sequence for row in rows] == list(range(len(view.paths)))
    for row in rows:
        np.testing.assert_array_equal(row.frames, spread_evenly(frames, min(frames, most)))
    assert [row.sequence for row in look(view, [2, 0], most)] == [2, 0]
    assert len(look(view)[0].frames) == frames


@given(frame_counts)
def test_a_row_is_as_it_is_alone_and_zeros_follow_it(counts: list[int]) -> None:
    rows = [look(make_view(frames, seed=frames))[1] for frames in counts]
    together = make_streams(rows, FRAME_STREAMS, WHOLE_STREAMS)
    assert together.lengths.tolist() == counts
    for place, row in enumerate(rows):
        alone = make_streams([row], FRAME_STREAMS, WHOLE_STREAMS)
        for name, stream in together.frames.items():
            assert torch.equal(stream[place, : counts[place]], alone.frames[name][0])
            assert not stream[place, counts[place] :].any()
        for name, stream in together.whole.items():
            assert torch.equal(stream[place], alone.whole[name][0])


@given(frames=st.integers(1, 6), seed=st.integers(0, 1000))
def test_what_sets_regions_apart_sums_to_nothing(frames: int, seed: int) -> None:
    """Over all regions, and for words over all sequences of the clip."""
    view = make_view(frames, seed=seed)
    streams = make_streams(look(view), ("centred",), ("special_words",))
    torch.testing.assert_close(
        streams.frames["centred"].mean(dim=0), torch.zeros(frames, FEATURES), atol=1e-6, rtol=0
    )
    torch.testing.assert_close(
        streams.whole["special_words"].mean(dim=0), torch.zeros(WORDS), atol=1e-6, rtol=0
    )


def test_streams_are_what_their_names_say() -> None:
    view = make_view(frames=4)
    row = Row(view, 2, np.array([1, 3]))
    streams = make_streams([row], FRAME_STREAMS, WHOLE_STREAMS)
    regions = view.features[[1, 3], view.paths[2, [1, 3]]]
    means = view.features[[1, 3]].mean(axis=1)
    expected = {"regions": regions, "centred": regions - means, "frames": means}
    for name, values in expected.items():
        np.testing.assert_allclose(streams.frames[name][0], values, rtol=1e-6)
    np.testing.assert_allclose(streams.whole["clip"][0], means.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(streams.whole["words"][0] ** 2, view.sequence_words[2], rtol=1e-5)
    np.testing.assert_allclose(streams.whole["clip_words"][0] ** 2, view.clip_words, rtol=1e-5)
    np.testing.assert_array_equal(streams.whole["category"][0], view.category)
    assert {stream.dtype for stream in streams.frames.values()} == {torch.float32}


def test_a_category_that_is_not_known_is_no_stream() -> None:
    rows = look(make_view(frames=2, categories=0))
    streams = make_streams(rows, ("regions",), WHOLE_STREAMS)
    assert set(WHOLE_STREAMS) - streams.whole.keys() == {"category"}


@pytest.mark.parametrize("frames", [1, 4])
def test_a_view_follows_its_sequences(frames: int) -> None:
    random = np.random.default_rng(0)
    grid = Grid(5, 5, window=2, stride=1)
    seen = FrameGrid(
        grid,
        np.arange(frames) / 2.0,
        random.random((frames, len(grid), 9), np.float32),
        random.random((frames, len(grid), 4), np.float32),
    )
    sequences = generate_sequences(seen, RegionsConfig(k=3))
    view = view_clip(seen, sequences, words=6)
    assert view.paths.tolist() == [list(sequence.regions) for sequence in sequences]
    for path, words in zip(view.paths, view.sequence_words, strict=True):
        along = seen.probabilities[np.arange(frames), path, :6]
        np.testing.assert_array_equal(words, along.max(axis=0))
    shown = 1 - (1 - seen.probabilities[:, :, :6].astype(np.float64)).prod(axis=1)
    np.testing.assert_allclose(view.clip_words, shown.mean(axis=0), rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"frames": ("global",)}, "no stream 'global': frames may be regions, centred, frames"),
        ({"whole": ("regions",)}, "no stream 'regions': whole may be clip, words"),
        ({"frames": ()}, "frames must name at least one of regions"),
        ({"dropout": {"words": 0.1}}, "dropout has 'words', which is in neither"),
        ({"dropout": {"clip": 1.0}}, "dropout of 'clip' must be from 0 to below 1"),
    ],
)
def test_streams_that_cannot_be_are_refused(options: dict[str, object], fault: str) -> None:
    with pytest.raises(ModelError, match=fault):
        StreamOptions(**options)  # type: ignore[arg-type]
