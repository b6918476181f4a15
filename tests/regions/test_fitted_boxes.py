"""Region-sequences whose boxes are fitted to the thing, beside those of the grid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.export.made_captions import FITTED, captions, make_caption

from densevidcap.types import Caption, SourceFrame

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


@given(captions(), st.data())
def test_a_part_of_a_sequence_keeps_its_boxes_and_frames(
    caption: Caption, data: st.DataObject
) -> None:
    whole = caption.sequence
    every = st.sampled_from(range(len(whole.times)))
    indices = data.draw(st.lists(every, min_size=1, unique=True).map(sorted))
    part = whole.select(indices)
    assert (part.source_frames is None) == (whole.source_frames is None)
    for name in ("regions", "times", "boxes", "grid_boxes", "source_frames"):
        if getattr(whole, name) is not None:
            assert getattr(part, name) == tuple(getattr(whole, name)[index] for index in indices)


def test_values_of_other_frames_are_not_followed() -> None:
    """A part of a sequence does not start where the clip's arrays do."""
    values = np.arange(4 * 15, dtype=np.float32).reshape(4, 15)
    assert SEQUENCE.follow(values).tolist() == [5, 21, 37, 53]
    assert SEQUENCE.select([1, 2]).follow(values[1:3]).tolist() == [21, 37]
    with pytest.raises(ValueError, match="values of 4 frames, not of 2"):
        SEQUENCE.select([1, 2]).follow(values)


def test_every_frame_stands_somewhere_or_none_does() -> None:
    with pytest.raises(ValueError, match="a source frame for each of its frames"):
        replace(SEQUENCE, source_frames=(SourceFrame(3),))
