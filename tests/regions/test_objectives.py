"""What the maths promises of the three terms, and that the batched code computes them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.regions import literal
from tests.regions.clips import (
    COHERENT,
    DIVERSE,
    INFORMATIVE,
    againsts,
    clips,
    make_clip,
    scalings,
    weights,
)
from tests.regions.literal import Site

from densevidcap.regions.objectives import Against, Objective, Scaling, Subset, Weights
from densevidcap.types import FrameGrid


def sites_of(clip: FrameGrid) -> list[Site]:
    frames, regions = clip.probabilities.shape[:2]
    return [(frame, region) for frame in range(frames) for region in range(regions)]


def select(objective: Objective, sites: list[Site]) -> Subset:
    subset = objective.empty()
    for frame, region in sites:
        subset = objective.extend(subset, frame, np.array([region])).take(0)
    return subset


def draw_nested(data: st.DataObject, clip: FrameGrid) -> tuple[list[Site], list[Site], Site]:
    """A, B and r with A within B and r outside of B."""
    shuffled = data.draw(st.permutations(sites_of(clip)))
    larger = data.draw(st.integers(0, len(shuffled) - 1))
    smaller = data.draw(st.integers(0, larger))
    return shuffled[:smaller], shuffled[:larger], shuffled[-1]


def gains(objective: Objective, smaller: list[Site], larger: list[Site], r: Site) -> list[float]:
    """What r adds to the smaller and to the larger set."""
    return [
        objective.value(select(objective, [*sites, r])) - objective.value(select(objective, sites))
        for sites in (smaller, larger)
    ]


@given(clips, st.data())
def test_informativeness_is_normalised_monotone_and_submodular(
    clip: FrameGrid, data: st.DataObject
) -> None:
    objective = Objective(clip, INFORMATIVE)
    to_smaller, to_larger = gains(objective, *draw_nested(data, clip))
    assert objective.value(objective.empty()) == 0
    assert objective.value(select(objective, sites_of(clip))) == pytest.approx(1)
    assert to_larger >= -1e-6
    assert to_smaller >= to_larger - 1e-6


@given(clips, st.data())
def test_coherence_is_supermodular_for_non_negative_features(
    clip: FrameGrid, data: st.DataObject
) -> None:
    to_smaller, to_larger = gains(Objective(clip, COHERENT), *draw_nested(data, clip))
    assert to_smaller <= to_larger + 1e-6


@pytest.mark.parametrize("against", ["nearest", "all"])
def test_diversity_is_neither_monotone_nor_submodular_nor_supermodular(against: Against) -> None:
    first, second, third = np.eye(3, dtype=np.float32)
    clip = make_clip(0, frames=1, rows=2, columns=2, words=3)
    clip.probabilities[0] = [first, first, second, third]
    shows_first, also_shows_first, shows_second, shows_third = sites_of(clip)
    objective = Objective(clip, DIVERSE, against=against)
    # All sites are taken, so that none is better for being new.
    objective = objective.beside(select(objective, [shows_first, also_shows_first]))
    objective.chosen.taken[:] = True

    to_second, to_both = gains(
        objective, [shows_second], [shows_second, shows_first], also_shows_first
    )
    assert to_second < 0 < to_both - to_second
    to_first, to_both = gains(objective, [shows_first], [shows_first, shows_second], shows_third)
    assert to_first > to_both


@given(clips, st.integers(0, 3), st.data())
def test_a_repeat_differs_by_nothing_from_the_nearest(
    clip: FrameGrid, others: int, data: st.DataObject
) -> None:
    paths = st.lists(st.integers(0, len(clip.grid) - 1), min_size=1, max_size=len(clip.times))
    chosen = [[*enumerate(data.draw(paths))] for _ in range(1 + others)]
    objective = Objective(clip, DIVERSE)
    for sequence in chosen:
        objective = objective.beside(select(objective, sequence))
    for sequence in chosen:
        assert objective.value(select(objective, sequence)) == pytest.approx(0, abs=1e-5)
    sites = data.draw(st.permutations(sites_of(clip)))[:3]
    assert objective.value(select(objective, sites)) >= -1e-5


@given(clips, weights, againsts, scalings, st.booleans(), st.data())
def test_terms_equal_the_transcription(
    clip: FrameGrid,
    weights: Weights,
    against: Against,
    scaling: Scaling,
    of_sentence: bool,
    data: st.DataObject,
) -> None:
    words = np.array([1, 4]) if of_sentence else None
    everything = sites_of(clip)
    chosen = data.draw(st.lists(st.lists(st.sampled_from(everything), min_size=1), max_size=3))
    sites = data.draw(st.permutations(everything))[: data.draw(st.integers(1, 5))]
    objective = Objective(clip, weights, against=against, scaling=scaling, words=words)
    for sequence in chosen:
        objective = objective.beside(select(objective, sequence))

    *before, (frame, _) = sites
    regions = np.arange(len(clip.grid))
    extension = objective.extend(select(objective, before), frame, regions)
    # How far regions are apart is a small difference of large numbers, in float32.
    np.testing.assert_allclose(
        objective.scales, literal.scales(clip, chosen, against, scaling, words), rtol=1e-3
    )
    close = partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-5)
    known = literal.terms(clip, before, chosen, against, words)
    for region in regions:
        after = literal.terms(clip, [*before, (frame, int(region))], chosen, against, words)
        gains = (after - known) / objective.scales
        close(extension.terms[region], after)
        close(extension.term_gains[region] * objective.scales, after - known)
        close(extension.gains[region], gains @ weights, atol=1e-5 * max(objective.rates.max(), 1))
        close(extension.take(int(region)).terms, after)


def test_of_equal_regions_the_first_is_best() -> None:
    clip = make_clip(0, frames=2, rows=3, columns=3, words=1001, features=301)
    clip.probabilities[:] = clip.probabilities[:, :1]
    clip.features[:] = clip.features[:, :1]
    objective = Objective(clip)
    objective = objective.beside(select(objective, [(0, 0)]))
    for candidates in range(2, 10):
        regions = np.arange(candidates)
        subset = objective.extend(select(objective, [(0, 1)]), 1, regions).take_best()
        assert subset.sites[-1] == (1, 0)


def test_black_regions_have_no_direction() -> None:
    clip = make_clip(0)
    clip.features[1] = 0
    objective = Objective(clip, COHERENT)
    assert objective.value(select(objective, [(0, 0), (1, 0)])) == 0


def test_negative_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        Objective(make_clip(0), Weights(1, -1, 1))
