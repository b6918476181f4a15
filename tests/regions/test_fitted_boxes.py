"""Region-sequences whose boxes are fitted to the thing, beside those of the grid."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.export.made_captions import FITTED, captions, make_caption

from densevidcap.types import Caption

SEQUENCE, PLAIN = FITTED[0].sequence, make_caption().sequence


def test_fitted_boxes_stand_before_those_of_the_grid() -> None:
    assert PLAIN.boxes == PLAIN.grid_boxes
    assert SEQUENCE.boxes == SEQUENCE.fitted != SEQUENCE.grid_boxes
    assert SEQUENCE.grid_boxes == PLAIN.grid_boxes
    assert FITTED[0].boxes == SEQUENCE.fitted


@pytest.mark.parametrize("count", [0, 3, 5])
def test_each_frame_has_one(count: int) -> None:
    with pytest.raises(ValueError, match="one fitted box for each of its frames"):
        replace(SEQUENCE, fitted=(SEQUENCE.boxes * 2)[:count])


def test_boxes_that_are_the_grids_are_not_fitted() -> None:
    assert replace(SEQUENCE, fitted=SEQUENCE.grid_boxes) == PLAIN


@given(captions(), st.data(), st.integers(0, 99))
def test_a_part_of_a_sequence_keeps_its_boxes(
    caption: Caption, data: st.DataObject, first: int
) -> None:
    whole = caption.sequence
    places = data.draw(st.lists(st.sampled_from(whole.frames), min_size=1, unique=True).map(sorted))
    part = whole.select(places, first)
    assert part.frames == tuple(range(first, first + len(places)))
    for name in ("regions", "times", "boxes", "grid_boxes"):
        assert getattr(part, name) == tuple(getattr(whole, name)[place] for place in places)
