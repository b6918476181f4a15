"""Region-sequences over their clip: what is drawn where, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tests.data.made_clips import write_video
from tests.export.made_captions import boxes

from densevidcap.data.clip import open_clip
from densevidcap.data.sampling import Sampling
from densevidcap.regions.words import SequenceWord, WordedSequence
from densevidcap.types import Box, Grid, RegionSequence
from densevidcap.viz.colours import RGB, colour_of
from densevidcap.viz.sequences import (
    CELL,
    GAP,
    HEADING,
    MARGIN,
    Legend,
    box_at,
    draw_boxes,
    draw_sheet,
    spotlight,
    write_overlay_video,
)

GRID = Grid(10, 10, window=4, stride=2)


def make_sequence(regions: Sequence[int], times: Sequence[float] | None = None) -> WordedSequence:
    seconds = tuple(times) if times is not None else tuple(0.5 + n for n in range(len(regions)))
    sequence = RegionSequence(GRID, tuple(regions), seconds)
    words = [("dog", 0.1, 0.9), ("running", 0.9, 0.2), ("grass", 0.3, 0.3)]
    return WordedSequence(
        sequence,
        tuple(
            SequenceWord(word, tuple(np.linspace(first, last, len(regions)).tolist()))
            for word, first, last in words
        ),
    )


def count_pixels(picture: Image.Image, colour: RGB) -> int:
    return int((np.asarray(picture) == colour).all(axis=2).sum())


@given(st.lists(st.integers(0, 15), min_size=1, max_size=5), st.floats(-1, 7))
def test_boxes_move_evenly_inside_the_frame(regions: list[int], time: float) -> None:
    sequence = make_sequence(regions).sequence
    box = box_at(sequence, time)
    for edge in ("left", "top", "right", "bottom"):
        known = [getattr(each, edge) for each in sequence.boxes]
        assert getattr(box, edge) == pytest.approx(np.interp(time, sequence.times, known))


@given(st.lists(boxes(), min_size=1, max_size=5), st.floats(-1, 7))
def test_boxes_of_any_shape_move_and_grow_evenly(fitted: list[Box], time: float) -> None:
    """Also where they are so thin that rounding would leave nothing of them."""
    sequence = replace(make_sequence([5] * len(fitted)).sequence, fitted=tuple(fitted))
    box = box_at(sequence, time)
    for edge in ("left", "top", "right", "bottom"):
        known = [getattr(each, edge) for each in fitted]
        assert getattr(box, edge) == pytest.approx(np.interp(time, sequence.times, known))


@pytest.mark.parametrize("edge", [0.0, 0.3, float(np.nextafter(1, 0))])
def test_a_box_as_thin_as_numbers_stays_one(edge: float) -> None:
    thin = Box(edge, 0, float(np.nextafter(edge, 1)), 5e-324)
    sequence = replace(make_sequence([5, 6]).sequence, fitted=(thin, thin))
    for time in np.linspace(0.5, 1.5, 99):
        assert box_at(sequence, float(time)).left == pytest.approx(edge)


@pytest.mark.parametrize("count", [1, 2, 5, 12])
@pytest.mark.parametrize("size", [(480, 360), (960, 540), (270, 480)])
def test_boxes_in_the_same_place_are_all_visible(count: int, size: tuple[int, int]) -> None:
    picture = Image.new("RGB", size)
    draw_boxes(picture, [GRID.box(5)] * count)
    for number in range(min(count, 8)):
        # Below the middle there are edges only, no numbers.
        box = GRID.box(5)
        below = round((box.top + box.bottom) / 2 * size[1])
        lower = picture.crop((0, below, *size))
        assert count_pixels(lower, colour_of(number).rgb) > size[1] * 0.2, number


def test_boxes_at_the_frames_edges_stay_inside() -> None:
    picture = Image.new("RGB", (480, 360))
    draw_boxes(picture, [GRID.box(0), GRID.box(15)])
    assert np.asarray(picture)[180:, :240].max() == 0
    assert count_pixels(picture.crop((460, 240, 480, 360)), colour_of(1).rgb) > 100


@pytest.mark.parametrize("size", [(960, 2), (2, 960), (2, 2)])
def test_thin_pictures_do_no_harm(size: tuple[int, int]) -> None:
    picture = Image.new("RGB", size)
    draw_boxes(picture, [GRID.box(region) for region in range(len(GRID))])
    assert np.asarray(picture).max() > 0


def test_the_legend_grows_with_sequences_and_brightens_what_is_shown() -> None:
    two, six = (Legend([make_sequence([0, 15])] * count, 960) for count in (2, 6))
    assert (two.columns, two.rows, six.columns, six.rows) == (1, 2, 2, 3)
    assert Legend([make_sequence([0])] * 6, 270).columns == 1
    start, end = (np.asarray(two.draw(time)).astype(int) for time in (0.5, 1.5))
    different = np.flatnonzero((end - start).any(axis=(0, 2)))
    dog = slice(different[0], different[0] + 10)
    running = slice(different[-1] - 10, different[-1])
    assert end[:, dog].sum() > start[:, dog].sum()
    assert end[:, running].sum() < start[:, running].sum()


def test_words_without_room_are_left_out() -> None:
    page = np.asarray(Legend([make_sequence([0])], 90).draw(0.0))
    assert page.shape[1] == 90
    assert (page[:, -6:] == page[0, 0]).all()


def test_the_box_is_bright_and_the_rest_dim() -> None:
    picture = Image.new("RGB", (100, 100), (200, 200, 200))
    lit = np.asarray(spotlight(picture, Box(0.2, 0.2, 0.6, 0.6)))
    assert (lit[20:60, 20:60] == 200).all()
    assert (lit[:20] < 100).all()
    assert (lit[:, 60:] < 100).all()


def test_a_sheet_shows_fitted_boxes(tmp_path: Path) -> None:
    frames = open_clip(write_video(tmp_path / "talk.mp4", 30)).sample(Sampling(frames=3))
    fitted = Box(0.1, 0.2, 0.9, 0.5), Box(0.3, 0.1, 0.5, 0.9), Box(0.6, 0.6, 1, 1)
    worded = make_sequence([5, 5, 5], frames.times.tolist())
    worded = replace(worded, sequence=replace(worded.sequence, fitted=fitted))
    sheet = np.asarray(draw_sheet([worded], frames, (64, 48)))
    width, height = CELL, CELL * 48 // 64
    for column, box in enumerate(fitted):
        left = MARGIN + column * (width + GAP)
        cell = sheet[HEADING : HEADING + height, left : left + width]
        rows, columns = (cell == colour_of(0).rgb).all(axis=2).nonzero()
        found = [columns.min(), rows.min(), columns.max(), rows.max()]
        assert np.abs(found - np.array(astuple(box)) * [width, height, width, height]).max() < 4


def test_a_sheet_has_a_row_for_each_sequence_a_video_all_times(tmp_path: Path) -> None:
    clip = open_clip(write_video(tmp_path / "talk.mp4", 30))
    frames = clip.sample(Sampling(frames=3), (320, 320))
    worded = [make_sequence(regions, frames.times.tolist()) for regions in ([0, 5, 15], [3, 3, 3])]
    sheet = draw_sheet(worded, frames, (64, 48))
    height = (sheet.height - HEADING) // 2
    upper, lower = (
        sheet.crop((0, top, sheet.width, top + height)) for top in (HEADING, HEADING + height)
    )
    for row, number in ((upper, 0), (lower, 1)):
        assert count_pixels(row, colour_of(number).rgb) > 500
        assert count_pixels(row, colour_of(1 - number).rgb) == 0

    write_overlay_video(worded, clip, tmp_path / "drawn.mp4")
    with av.open(str(tmp_path / "drawn.mp4")) as container:
        pictures = [(frame.time, frame.to_ndarray(format="rgb24")) for frame in container.decode()]
    np.testing.assert_allclose([time for time, _ in pictures], clip.times(), atol=1e-4)
    assert pictures[0][1].shape[1] == 480
    assert pictures[0][1].shape[0] > 360
