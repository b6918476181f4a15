from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.metrics.made_captions import REFERENCES

from densevidcap.data.lsa import LatentSpace
from densevidcap.metrics import CaptionScorer


@pytest.fixture(scope="session")
def scorer() -> Iterator[CaptionScorer]:
    """One for all tests, since what it scored changes nothing."""
    with CaptionScorer(REFERENCES) as scorer:
        yield scorer


@pytest.fixture(scope="session")
def caption_space() -> LatentSpace:
    return LatentSpace.fit([text for texts in REFERENCES.values() for text in texts], dimensions=5)
