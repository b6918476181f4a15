"""Scenes: few, without gaps, known soon, and of shots that look alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pipeline.small_model import GRID

from densevidcap.config import ScenesConfig
from densevidcap.pipeline.scenes import AHEAD, MOST_HELD, Scene, gather_scenes, group_scenes
from densevidcap.types import FrameGrid, Span

KINDS = np.eye(6)
"""What shots look like that have nothing in common."""


def make_shot(start: float, seconds: float, kind: int, frames: int = 1) -> Scene:
    times = start + (np.arange(frames) + 0.5) * seconds / frames
    return Scene.of_shot(
        (start, start + seconds),
        FrameGrid(
            GRID,
            times,
            np.zeros((frames, len(GRID), 2), np.float32),
            np.ones((frames, len(GRID), 6), np.float32),
            np.tile(KINDS[kind].astype(np.float32), (frames, 1)),
            source_frames=np.arange(frames),
        ),
    )


def make_film(shots: Sequence[tuple[float, int]], frames: int = 1) -> Iterator[Scene]:
    start = 0.0
    for seconds, kind in shots:
        yield make_shot(start, seconds, kind, frames)
        start += seconds


def list_spans(shots: Sequence[tuple[float, int]], config: ScenesConfig) -> list[Span]:
    return [scene.span for scene in gather_scenes(make_film(shots), config)]


shots = st.lists(st.tuples(st.floats(0.2, 90), st.integers(0, 5)), min_size=1, max_size=60)


@settings(max_examples=80, deadline=None)
@given(shots=shots, rate=st.floats(0.5, 20), frames=st.integers(1, 4))
def test_scenes_are_few_and_leave_no_gap(
    shots: list[tuple[float, int]], rate: float, frames: int
) -> None:
    config = ScenesConfig(sentences=rate, frames=frames)
    scenes = list(gather_scenes(make_film(shots, frames), config))
    end = sum(seconds for seconds, _ in shots)
    spans = [scene.span for scene in scenes]
    assert spans[0][0] == 0
    assert spans[-1][1] == pytest.approx(end)
    assert [b for _, b in spans[:-1]] == [a for a, _ in spans[1:]]
    assert len(scenes) <= 1 + rate * end / 60 + 1e-6
    for (start, stop), seen in ((scene.span, scene.seen) for scene in scenes):
        assert 1 <= len(seen.times) <= frames
        assert ((start <= seen.times) & (seen.times < stop)).all()
        assert (np.diff(seen.times) > 0).all()


def test_shots_that_look_alike_are_one_scene() -> None:
    config = ScenesConfig(sentences=60)
    assert list_spans([(5, 0), (5, 0), (5, 1), (5, 1)], config) == [(0, 10), (10, 20)]
    assert list_spans([(5, 0), (5, 1), (5, 2)], config) == [(0, 5), (5, 10), (10, 15)]


def test_a_talk_that_is_cut_to_and_fro_is_one_scene() -> None:
    talk = [(4.0, 0), (4.0, 1)] * 4
    assert list_spans([*talk, (20, 2)], ScenesConfig(sentences=60)) == [(0, 32), (32, 52)]


def test_what_comes_again_much_later_is_another_scene() -> None:
    away = [(4.0, kind) for kind in (1, 2, 3, 4)]
    assert len(list_spans([(4, 0), *away, (4, 0)], ScenesConfig(sentences=60))) == 6


def test_where_there_are_too_many_the_shortest_that_differ_least_are_joined() -> None:
    """A flash goes to the side that it is like, and long scenes stay apart."""
    film = [(30.0, 0), (1.0, 1), (30.0, 2), (29.0, 3)]
    assert list_spans(film, ScenesConfig(sentences=1.9)) == [(0, 31), (31, 61), (61, 90)]


def test_one_camera_for_an_hour_is_told_now_and_then() -> None:
    spans = list_spans([(60.0, 0)] * 60, ScenesConfig())
    assert spans == [(300.0 * n, 300.0 * (n + 1)) for n in range(12)]


@pytest.mark.parametrize("seconds", [0.2, 5.0, 50.0])
def test_a_scene_is_told_while_the_film_is_read(seconds: float) -> None:
    """What is held does not grow: little is read beyond a scene before it comes."""
    read: list[Scene] = []

    def watch() -> Iterator[Scene]:
        for shot in make_film([(seconds, number % 6) for number in range(400)], 8):
            read.append(shot)
            yield shot

    ahead = []
    for scene in gather_scenes(watch(), ScenesConfig(frames=3)):
        ahead.append(sum(shot.span[0] >= scene.span[1] for shot in read))
        assert read[-1].span[1] - scene.span[1] <= AHEAD + 60 + seconds
    assert max(ahead) <= MOST_HELD + 60 / seconds + 1


topics = st.lists(st.tuples(st.floats(1, 200), st.integers(0, 5)), min_size=1, max_size=40)


@given(topics)
def test_chapters_are_runs_of_scenes(scenes: list[tuple[float, int]]) -> None:
    edges = np.cumsum([0.0, *(seconds for seconds, _ in scenes)]).tolist()
    spans = list(pairwise(edges))
    chapters = group_scenes(spans, [KINDS[kind] for _, kind in scenes], 120)
    assert len(chapters) <= max(1, round(edges[-1] / 120))
    if chapters:
        assert len(chapters) > 1
        assert {edge for chapter in chapters for edge in chapter} <= set(edges)
        assert [b for _, b in chapters[:-1]] == [a for a, _ in chapters[1:]]
        assert (chapters[0][0], chapters[-1][1]) == (0, edges[-1])


def test_a_chapter_ends_where_the_topic_does() -> None:
    spans = [(20.0 * n, 20.0 * (n + 1)) for n in range(9)]
    meanings = [KINDS[kind] for kind in (0, 0, 0, 0, 1, 1, 2, 2, 2)]
    assert group_scenes(spans, meanings, 60) == ((0, 80), (80, 120), (120, 180))
    assert group_scenes(spans, meanings, 150) == ()
    assert group_scenes([], [], 60) == ()
