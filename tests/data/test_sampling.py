"""What every choice of frames promises."""

from __future__ import annotations

from itertools import pairwise
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from densevidcap.config import FramesConfig
from densevidcap.data.sampling import CELLS, Sampling, Strategy, end_of, find_still
from densevidcap.types import ImageArray, TimeArray

gaps = st.lists(st.floats(1e-3, 100), min_size=1, max_size=60)
frame_times = gaps.map(lambda gaps: np.cumsum(gaps) - gaps[0])
samplings = st.builds(
    Sampling,
    st.sampled_from(get_args(Strategy)),
    st.integers(1, 70),
    st.integers(0, 2**32),
    st.just(0.0) | st.floats(0.01, 100),
    st.integers(1, 70),
)


@given(frame_times, samplings, st.data())
def test_different_frames_in_order(
    times: TimeArray, sampling: Sampling, data: st.DataObject
) -> None:
    cuts = data.draw(
        st.sets(st.sampled_from(times[1:].tolist())) if len(times) > 1 else st.just(set())
    )
    starts = [0.0, *sorted(cuts)]
    shots = list(zip(starts, [*starts[1:], end_of(times)], strict=True))
    chosen = sampling.choose(times, shots)
    assert len(chosen) == sampling.count(times)
    assert (np.diff(chosen) > 0).all()
    assert chosen[0] >= 0
    assert chosen[-1] < len(times)
    np.testing.assert_array_equal(chosen, sampling.choose(times, shots))


@given(st.integers(1, 300), st.floats(0.1, 60), st.integers(1, 40), st.integers(1, 40))
def test_longer_clips_have_more_frames_up_to_the_most(
    frames: int, every: float, most: int, least: int
) -> None:
    """Ten a second; as many as there are spans of `every` seconds, within the two bounds."""
    times = np.arange(frames) / 10
    count = Sampling(frames=most, every=every, least=least).count(times)
    assert count <= min(most, frames)
    assert count == min(most, frames) or count >= least
    if least < count < min(most, frames):
        assert (count - 1) * every < frames / 10 + 1e-3
        assert frames / 10 <= count * every + 1e-3
    assert Sampling(frames=most, least=least).count(times) == min(most, frames)


def test_a_config_says_all_of_it() -> None:
    config = FramesConfig(most=20, every=2.0, least=3, strategy="jittered", seed=7)
    assert Sampling.of(config) == Sampling("jittered", 20, 7, 2.0, 3)


@given(samplings)
def test_what_was_made_before_lengths_mattered_still_fits(sampling: Sampling) -> None:
    known = sampling.to_dict()
    assert Sampling(**known).count(np.arange(50.0)) == sampling.count(np.arange(50.0))
    assert ("every" in known) == bool(sampling.every)


@given(st.integers(1, 40), st.integers(1, 40))
def test_uniform_takes_the_middle_of_each_span(spans: int, per_span: int) -> None:
    """With a steady rate and whole spans, the choice is plain arithmetic."""
    times = np.linspace(0, 10, spans * per_span, endpoint=False)
    chosen = Sampling(frames=spans).choose(times)
    np.testing.assert_array_equal(chosen, np.arange(spans) * per_span + per_span // 2)


@given(st.integers(1, 30), st.integers(1, 10), st.integers(0, 1000))
def test_jitter_stays_in_its_span(spans: int, per_span: int, seed: int) -> None:
    times = np.arange(spans * per_span) / 8
    chosen = Sampling("jittered", spans, seed).choose(times)
    np.testing.assert_array_equal(chosen // per_span, np.arange(spans))


@given(st.lists(st.integers(1, 20), min_size=1, max_size=12), st.integers(1, 60))
def test_every_shot_is_seen_while_frames_suffice(lengths: list[int], frames: int) -> None:
    times = np.arange(sum(lengths), dtype=float)
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    shots = [(float(start), float(end)) for start, end in pairwise(bounds)]
    chosen = Sampling("shots", frames).choose(times, shots)
    shares = np.histogram(chosen, bounds)[0]
    if frames >= len(lengths):
        assert shares.min() >= 1
    else:
        assert shares.max() == 1
        seen = np.array(lengths)[shares == 1]
        missed = np.array(lengths)[shares == 0]
        assert seen.min() >= missed.max()


def test_seeds_differ() -> None:
    times = np.arange(1000.0)
    for strategy in ("jittered", "random"):
        one, other = (Sampling(strategy, 10, seed).choose(times).tolist() for seed in (1, 2))
        assert one != other


def test_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="strategy"):
        Sampling("every other")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one frame"):
        Sampling(frames=0)


def measure_change(one: ImageArray, other: ImageArray) -> float:
    """As `FramesConfig.still` has it, cell by cell."""
    cells = [
        [image[::2, ::2][rows][:, columns].mean(axis=(0, 1)) / 255 for image in (one, other)]
        for rows in np.array_split(np.arange(len(one) // 2), CELLS)
        for columns in np.array_split(np.arange(one.shape[1] // 2), CELLS)
    ]
    return float(np.sqrt(np.mean([np.square(a - b) for a, b in cells])))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.floats(0, 0.1), st.integers(0, 99))
def test_each_frame_is_stood_for_by_one_that_shows_nearly_the_same(
    kinds: list[int], least: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    shown = random.integers(0, 256, (4, 2 * CELLS * 3, 2 * CELLS * 2, 3))
    noise = random.integers(-9, 10, (len(kinds), *shown.shape[1:]))
    images = np.clip(shown[kinds] + noise, 0, 255).astype(np.uint8)
    found = find_still(images, least)
    np.testing.assert_array_equal(found[found], found)
    assert (np.diff(found) >= 0).all()
    for number, other in enumerate(found.tolist()):
        assert other <= number
        if other < number:
            assert measure_change(images[number], images[other]) < least + 1e-6
        elif number:
            last = int(found[number - 1])
            assert measure_change(images[number], images[last]) >= least - 1e-6


def test_what_changes_slowly_changes_all_the_same() -> None:
    """A fade from black to white, of which no step is as large as the least change."""
    images = np.arange(0, 250, 5, dtype=np.uint8)[:, None, None, None] + np.zeros(
        (1, 64, 64, 3), np.uint8
    )
    assert find_still(images, 0.1).tolist() == [n // 6 * 6 for n in range(50)]
    assert find_still(images, 0.0).tolist() == list(range(50))
    assert not find_still(images[:1].repeat(4, axis=0), 1e-6).any()


@pytest.mark.parametrize("size", [1, 2, CELLS, 2 * CELLS + 1, 45])
def test_frames_of_any_size_are_compared(size: int) -> None:
    black, white = np.zeros((2, size, 50, 3), np.uint8), np.full((2, size, 50, 3), 255, np.uint8)
    assert find_still(np.concatenate([black, white]), 0.99).tolist() == [0, 0, 2, 2]
