"""Sentences compared as one tree: the same figures as one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.plain_scores import score
from tests.models.small_captioners import KINDS, Kind, make_captioner, make_streams

from densevidcap.decoding.generate import compare
from densevidcap.models.device import computing


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


@pytest.mark.parametrize("kind", KINDS)
def test_short_numbers_find_sentences_nearly_as_likely(kind: Kind) -> None:
    """Within a twentieth of a nat a word, on CPUs that only imitate bfloat16 too."""
    captioner = make_captioner(kind).float()
    streams = make_streams([3, 2], seed=1)
    frames, whole_clip = (
        {name: each.float() for name, each in part.items()}
        for part in (streams.frames, streams.whole)
    )
    streams = replace(streams, frames=frames, whole=whole_clip)
    sentences = [[4, 5, 6, 7], [8], [5, 5, 4]]
    whole = compare(captioner, streams, sentences)
    with computing(torch.float32, torch.device("cpu")):
        assert torch.equal(compare(captioner, streams, sentences), whole)
    with computing(torch.bfloat16, torch.device("cpu")):
        short = compare(captioner, streams, sentences)
    assert short.dtype == whole.dtype
    assert not torch.equal(short, whole)
    words = torch.tensor([[len(each) + 1] for each in sentences])
    assert ((short - whole).abs() / words).max() < 0.05
