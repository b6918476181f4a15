"""Sentences compared as one tree: the same figures as one by one."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.plain_scores import score
from tests.models.small_captioners import KINDS, Kind, make_captioner, make_streams

from densevidcap.decoding.generate import compare


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(
    sentences=st.lists(st.lists(st.integers(4, 8), max_size=4), min_size=1, max_size=8),
    lengths=st.lists(st.integers(1, 3), min_size=1, max_size=3),
)
def test_each_sentence_is_as_likely_as_by_itself(
    kind: Kind, sentences: list[list[int]], lengths: list[int]
) -> None:
    captioner, streams = make_captioner(kind), make_streams(lengths)
    compared = compare(captioner, streams, sentences)
    assert compared.shape == (len(sentences), len(lengths))
    for row, words in zip(compared, sentences, strict=True):
        torch.testing.assert_close(row, score(captioner, streams, [words] * len(lengths)))
