"""What the maths promises of the three terms, and that the batched code computes them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.regions import literal
from tests.regions.clips import COHERENT, DIVERGENCES, INFORMATIVE, clips, configs, make_clip
from tests.regions.literal import Site

from densevidcap.config import RegionsConfig
from densevidcap.errors import ModelError
from densevidcap.regions import generate_sequences
from densevidcap.regions.objectives import TERMS, Candidates, Float64Array, Objective, Subset, Term
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


@pytest.mark.parametrize("name", DIVERGENCES)
def test_divergence_is_neither_monotone_nor_submodular_nor_supermodular(name: str) -> None:
    first, second, third = np.eye(3, dtype=np.float32)
    clip = make_clip(0, frames=1, rows=2, columns=2, words=3)
    clip.probabilities[0] = [first, first, second, third]
    shows_first, also_shows_first, shows_second, shows_third = sites_of(clip)
    objective = Objective(clip, RegionsConfig(terms={name: 1.0}))
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
    objective = Objective(clip, RegionsConfig(terms={"nearest_divergence": 1.0}))
    for sequence in chosen:
        objective = objective.beside(select(objective, sequence))
    for sequence in chosen:
        assert objective.value(select(objective, sequence)) == pytest.approx(0, abs=1e-5)
    sites = data.draw(st.permutations(sites_of(clip)))[:3]
    assert objective.value(select(objective, sites)) >= -1e-5


@given(clips, configs, st.booleans(), st.data())
def test_terms_equal_the_transcription(
    clip: FrameGrid, config: RegionsConfig, of_sentence: bool, data: st.DataObject
) -> None:
    words = np.array([1, 4]) if of_sentence else None
    everything = sites_of(clip)
    chosen = data.draw(st.lists(st.lists(st.sampled_from(everything), min_size=1), max_size=3))
    sites = data.draw(st.permutations(everything))[: data.draw(st.integers(1, 5))]
    objective = Objective(clip, config, words)
    for sequence in chosen:
        objective = objective.beside(select(objective, sequence))

    *before, (frame, _) = sites
    regions = np.arange(len(clip.grid))
    candidates = objective.extend(select(objective, before), frame, regions)
    # How far regions are apart is a small difference of large numbers, in float32.
    np.testing.assert_allclose(
        objective.scales, literal.scales(clip, chosen, config, words), rtol=1e-3
    )
    close = partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-5)
    known = literal.terms(clip, before, chosen, config, words)
    weights = [*config.terms.values()]
    for region in regions:
        after = literal.terms(clip, [*before, (frame, int(region))], chosen, config, words)
        gains = (after - known) / objective.scales
        close(candidates.values[region], after)
        close(candidates.term_gains[region] * objective.scales, after - known)
        close(candidates.gains[region], gains @ weights, atol=1e-5 * max(objective.rates.max(), 1))
        close(candidates.take(int(region)).values, after)


@given(clips, st.data())
def test_divergence_of_faint_words_is_smoothed_as_it_should_be(
    clip: FrameGrid, data: st.DataObject
) -> None:
    """Words so improbable that the smoothing is as large as they are."""
    clip.probabilities[:] *= 1e-6
    config = RegionsConfig(terms={"divergence": 1.0}, scaling="paper")
    first, second = data.draw(st.tuples(*[st.sampled_from(sites_of(clip))] * 2))
    objective = Objective(clip, config)
    objective = objective.beside(select(objective, [first]))
    expected = literal.f_div(clip, [second], [[first]])
    assert objective.value(select(objective, [second])) == pytest.approx(expected, abs=1e-5)


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


@pytest.mark.parametrize(("words", "more", "best"), [(1, 5e-7, 0), (1, 1.5e-6, 1), (8, 3e-6, 0)])
def test_a_region_is_better_if_it_gains_a_millionth_more(
    words: int, more: float, best: int
) -> None:
    """Of the gain, where that is more than 1; what is less is rounding."""
    clip = make_clip(0, frames=1, rows=1, columns=2, words=words)
    clip.probabilities[:] = 0.5
    clip.probabilities[0, 1, 0] += more
    objective = Objective(clip, RegionsConfig(terms={"informativeness": 1.0}, scaling="paper"))
    found = objective.extend(objective.empty(), 0, np.arange(2)).take_best()
    assert found.sites == ((0, best),)


def test_black_regions_have_no_direction() -> None:
    clip = make_clip(0)
    clip.features[1] = 0
    objective = Objective(clip, COHERENT)
    assert objective.value(select(objective, [(0, 0), (1, 0)])) == 0


def test_negative_weights_are_refused() -> None:
    with pytest.raises(ModelError, match="no weight below 0"):
        RegionsConfig(terms={"informativeness": 1, "divergence": -1})


def test_a_term_that_there_is_not_is_refused_by_name() -> None:
    with pytest.raises(ModelError, match=r"no term 'magic' of regions\.terms: there are inf"):
        Objective(make_clip(0), RegionsConfig(terms={"magic": 1.0}))


def test_both_divergences_can_be_asked_for_in_any_order_of_terms() -> None:
    """They share what they compute, and leave the words to those that follow."""
    clip = make_clip(3)
    names = ["divergence", "nearest_divergence", "informativeness", "coherence"]
    config = RegionsConfig(terms=dict.fromkeys(names, 1.0), scaling="paper")
    words = np.array([1, 4])
    objective = Objective(clip, config, words)
    objective = objective.beside(select(objective, [(0, 0), (1, 3)]))
    candidates = objective.extend(select(objective, [(0, 2)]), 1, np.arange(6))
    for region, values in enumerate(candidates.values):
        sites = [(0, 2), (1, region)]
        expected = literal.terms(clip, sites, [[(0, 0), (1, 3)]], config, words)
        np.testing.assert_allclose(values, expected, rtol=1e-5)
        pooled = clip.probabilities[[0, 1], [2, region]].max(axis=0)
        np.testing.assert_array_equal(candidates.pooled[region], pooled)


class Height(Term):
    """How far up the regions are: a term that keeps a running sum of its own."""

    def values(self, candidates: Candidates) -> Float64Array:
        rows = candidates.regions // self.clip.grid.columns
        return np.asarray(candidates.subset.running[self.index] - rows, np.float64)

    def carry(self, candidates: Candidates | None = None, candidate: int = 0) -> float:
        return 0.0 if candidates is None else float(candidates.values[candidate, self.index])


def test_another_term_is_one_class_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TERMS, "height", Height)
    clip = make_clip(1, frames=5, rows=4, columns=1)
    config = RegionsConfig(k=2, terms={"informativeness": 0.1, "height": 1.0})
    low, top = generate_sequences(clip, RegionsConfig(k=2)), generate_sequences(clip, config)
    assert {region for sequence in top for region in sequence.regions} == {0}
    assert {region for sequence in low for region in sequence.regions} != {0}
    objective = Objective(clip, config)
    subset = select(objective, [(0, 3), (1, 2), (2, 1)])
    assert subset.values[1] == -6
    assert objective.value(subset) == pytest.approx(
        0.1 * subset.values[0] / objective.scales[0] - 6
    )
