"""A clip's region-sequences as streams."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.models.small_views import FEATURES, WORDS, make_view

from densevidcap.config import RegionsConfig, StreamsConfig
from densevidcap.errors import ModelError
from densevidcap.models.fusion import StreamProjection
from densevidcap.models.streams import (
    STREAMS,
    SeenStream,
    StreamSizes,
    find_stream,
    make_streams,
    size_streams,
)
from densevidcap.models.views import ClipView, Row, look, spread_evenly, view_clip
from densevidcap.regions import generate_sequences
from densevidcap.types import FrameGrid, Grid

FRAME_STREAMS, WHOLE_STREAMS = (
    tuple(
        name
        for name, stream in ((name, find_stream(name)) for name in STREAMS)
        if isinstance(stream, SeenStream) and stream.level == level
    )
    for level in ("frame", "clip")
)
"""Of what the eyes see; `test_extracted_streams.py` has the others."""
SIZES = StreamSizes(FEATURES, WORDS, categories=3)

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
        ({"frame_level": ("global",)}, "no stream 'global': there are regions, centred"),
        (
            {"frame_level": ("words",), "clip_level": ()},
            "'words' is no frame-level stream: frame_level may be reg",
        ),
        (
            {"frame_level": ("frames",), "clip_level": ("regions",)},
            "'regions' is no clip-level stream: clip_level may be clip",
        ),
        ({"frame_level": ()}, "frame_level must name at least one"),
        ({"dropout": {"centred": 0.1}}, "dropout has 'centred', which is in neither"),
        ({"dropout": {"clip": 1.0}}, "dropout of 'clip' must be from 0 to below 1"),
    ],
)
def test_streams_that_cannot_be_are_refused(options: dict[str, object], fault: str) -> None:
    with pytest.raises(ModelError, match=fault):
        size_streams(StreamsConfig(**options), SIZES)  # type: ignore[arg-type]


@given(sizes=st.builds(StreamSizes, *[st.integers(1, 9)] * 2, st.integers(0, 9)))
def test_streams_are_as_wide_as_what_they_show(sizes: StreamSizes) -> None:
    """Without categories there is no such stream."""
    random, regions = np.random.default_rng(0), 2
    view = ClipView(
        random.random((1, regions, sizes.features), np.float32),
        np.zeros((1, 1), np.intp),
        random.random((1, sizes.words), np.float32),
        random.random(sizes.words, np.float32),
        random.random(sizes.categories, np.float32) if sizes.categories else None,
    )
    frames, whole = size_streams(StreamsConfig(FRAME_STREAMS, WHOLE_STREAMS), sizes)
    assert ("category" in whole) == (sizes.categories > 0)
    streams = make_streams(look(view), FRAME_STREAMS, WHOLE_STREAMS)
    assert {name: stream.shape[-1] for name, stream in streams.frames.items()} == frames
    assert {name: stream.shape[-1] for name, stream in streams.whole.items()} == whole


def test_another_corpus_has_other_words_and_categories() -> None:
    of_corpus = {name for name in STREAMS if find_stream(name).of_corpus}
    assert of_corpus == {"words", "special_words", "clip_words", "category", "audio_words"}


def test_only_rows_without_a_stream_are_marked() -> None:
    views = [make_view(frames=2, categories=categories) for categories in (3, 0, 3)]
    streams = make_streams([look(view)[0] for view in views], ("regions",), ("clip", "category"))
    assert streams.missing.keys() == {"category"}
    assert streams.missing["category"].tolist() == [False, True, False]
    np.testing.assert_array_equal(streams.whole["category"][0], views[0].category)
    assert streams.select(torch.tensor([1, 0])).missing["category"].tolist() == [True, False]


def test_a_missing_row_is_the_learned_vector_and_the_others_are_as_ever() -> None:
    projection = StreamProjection(3, 4, dropout=0.0)
    torch.nn.init.normal_(projection.absent)
    stream = torch.randn(3, 2, 3)
    known = projection(stream)
    shown = projection(stream, torch.tensor([False, True, False]))
    assert torch.equal(shown[1], projection.absent.expand(2, -1))
    assert torch.equal(shown[[0, 2]], known[[0, 2]])
