"""What speaks for a sentence: its words, where the region-sequence that it is about shows them."""

from __future__ import annotations

from densevidcap.data.content import list_content_words
from densevidcap.pipeline.analysis import Segment
from densevidcap.records import Evidence, RegionSequence
from densevidcap.regions.objectives import THRESHOLD

LEAST = THRESHOLD
"""A word has evidence from this probability on."""


def find_evidence(
    sentence: str, sequence: RegionSequence, segment: Segment, least: float = LEAST
) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """Evidence for the content words, the best first, and those words that have none."""
    found, missing = [], []
    for word in dict.fromkeys(list_content_words(sentence)):
        evidence = _look_for(word, sequence, segment) if word in segment.words else None
        if evidence is not None and evidence.probability >= least:
            found.append(evidence)
        else:
            missing.append(word)
    return tuple(sorted(found, key=lambda each: -each.probability)), tuple(missing)


def _look_for(word: str, sequence: RegionSequence, segment: Segment) -> Evidence:
    """Where along the sequence the word is most probable."""
    frames, regions = list(sequence.frames), list(sequence.regions)
    responses = segment.respond(word)[frames, regions]
    best = int(responses.argmax())
    return Evidence(
        word=word,
        probability=float(responses[best]),
        frame=frames[best],
        region=regions[best],
        time=sequence.times[best],
        box=sequence.grid.box(regions[best]),
    )
