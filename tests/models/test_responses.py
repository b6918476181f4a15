"""Response maps: what is drawn where, and when."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.made_clips import write_video as write_clip

from densevidcap.data.clip import open_clip
from densevidcap.data.sampling import Sampling
from densevidcap.models.shown_words import ShownWord
from densevidcap.types import FloatArray, Grid, UInt8Array
from densevidcap.viz.responses import (
    SHOWN,
    ResponseMap,
    blend,
    choose_frames,
    colour,
    draw_sheet,
    level,
    spread,
    write_response_video,
)

GRID = Grid(10, 10, window=4, stride=2)


def make_map(responses: FloatArray, times: list[float]) -> ResponseMap:
    frame, region = divmod(int(responses.argmax()), len(GRID))
    peak = float(responses[frame, region])
    shown = ShownWord("dog", "NOUN", 0.9, peak, frame, region, times[frame], GRID.box(region))
    boxes = tuple(GRID.box(int(region)) for region in responses.argmax(axis=1))
    return ResponseMap(shown, GRID, np.array(times), responses, boxes)


@pytest.fixture
def response() -> ResponseMap:
    """Three frames, a second apart, in which the word goes from the first region to the last."""
    responses = np.full((3, len(GRID)), 0.05, dtype=np.float32)
    responses[[0, 1, 2], [0, 5, 15]] = (0.4, 0.5, 0.6)
    return make_map(responses, [0.5, 1.5, 2.5])


def test_small_windows_are_as_probable_as_the_frames_best_region() -> None:
    closely = np.array([[0.2, 0.1], [0.0, 0.4], [0.0, 0.0]], np.float32)
    levelled = level(closely, np.array([0.8, 0.3, 0.5], np.float32))
    assert levelled == pytest.approx(np.array([[0.8, 0.4], [0.0, 0.3], [0.0, 0.0]]))


@given(st.integers(1, 12), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**32))
def test_a_field_has_each_regions_value_at_its_centre(
    cells: int, window: int, stride: int, seed: int
) -> None:
    grid = Grid(cells, cells, min(window, cells), stride)
    values = np.random.default_rng(seed).random(len(grid), dtype=np.float32)
    side = 20 * cells  # every centre lies between four pixels
    field = spread(values, grid, (side, side))
    for region, value in enumerate(values):
        x, y = (round(place * side) for place in grid.centre(region))
        assert field[y - 1 : y + 1, x - 1 : x + 1].mean() == pytest.approx(value, abs=0.02)
    assert values.min() - 1e-5 <= field.min() <= field.max() <= values.max() + 1e-5


def test_colours_grow_lighter_with_strength() -> None:
    lightness = colour(np.linspace(0, 1, 100, dtype=np.float32)) @ np.array(
        [0.2126, 0.7152, 0.0722]
    )
    assert (np.diff(lightness) > 0).all()


def test_no_response_leaves_the_picture_and_a_strong_one_covers_it() -> None:
    image = np.full((2, 2, 3), 120, dtype=np.uint8)
    strength = np.array([[0, 0], [1, 1]], dtype=np.float32)
    blended = blend(image, strength).astype(int)
    assert abs(blended[0] - 120).max() < 12
    assert abs(blended[1] - 120).max() > 60


@given(st.floats(-1, 4))
def test_responses_pass_evenly_between_frames(time: float) -> None:
    responses = np.array([[0.0] * 16, [1.0] * 16, [0.5] * 16], dtype=np.float32)
    found = make_map(responses, [0.5, 1.5, 2.5]).at(time)
    np.testing.assert_allclose(found, np.interp(time, [0.5, 1.5, 2.5], [0, 1, 0.5]), atol=1e-6)


def test_a_single_frame_holds_for_all_times() -> None:
    response = make_map(np.full((1, 16), 0.3, dtype=np.float32), [0.0])
    assert response.at(5.0).tolist() == response.responses[0].tolist()


@given(st.integers(1, 100), st.integers(0, 99))
def test_a_sheet_shows_the_strongest_frame(count: int, strongest: int) -> None:
    strongest = min(strongest, count - 1)
    chosen = choose_frames(count, strongest)
    assert strongest in chosen
    assert chosen == sorted(set(chosen))
    assert len(chosen) == min(count, SHOWN)


def warmth(image: UInt8Array) -> FloatArray:
    """How orange each pixel is."""
    return np.asarray(image[..., 0].astype(np.float32) - image[..., 2])


def test_heat_and_outline_are_where_the_word_is(response: ResponseMap) -> None:
    grey = np.full((200, 200, 3), 128, dtype=np.uint8)
    first, last = (np.asarray(response.paint(grey, time)) for time in (0.5, 2.5))
    assert warmth(first)[40, 40] > 50 > warmth(first)[160, 160]
    assert warmth(last)[160, 160] > 50 > warmth(last)[40, 40]
    assert (last[150:170, 121] > 200).all()  # the left edge of the last region's box
    assert not (first[150:170, 121] > 200).any()


def test_a_sheet_has_all_frames_a_video_all_times(response: ResponseMap, tmp_path: Path) -> None:
    clip = open_clip(write_clip(tmp_path / "talk.mp4", 30))
    frames = clip.sample(Sampling(frames=3), (320, 320))
    response = replace(response, times=frames.times)
    sheet = draw_sheet(response, frames, (64, 48))
    assert sheet.width > 3 * 320
    assert sheet.height > 240

    write_response_video(response, clip, tmp_path / "dog.mp4")
    with av.open(str(tmp_path / "dog.mp4")) as container:
        pictures = [(frame.time, frame.to_ndarray(format="rgb24")) for frame in container.decode()]
    np.testing.assert_allclose([time for time, _ in pictures], clip.times(), atol=1e-4)
    assert pictures[0][1].shape[1] == 480
