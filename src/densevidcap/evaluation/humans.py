"""Human captions as predictions: the mark that a captioner is measured by."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence


def hold_out(
    references: Mapping[str, Sequence[str]], count: int, seed: int = 0
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """`count` drawn sentences of each video, and the others, which they are measured against."""
    source = random.Random(seed)
    drawn, others = {}, {}
    for video, sentences in references.items():
        if len(sentences) <= count:
            raise ValueError(f"{video} has {len(sentences)} sentences, too few to hold out {count}")
        places = source.sample(range(len(sentences)), count)
        drawn[video] = [sentences[place] for place in places]
        others[video] = [text for place, text in enumerate(sentences) if place not in places]
    return drawn, others
