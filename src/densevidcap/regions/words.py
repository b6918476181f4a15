"""Words of a clip and of its region-sequences: how probable, where, what sets them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from densevidcap.data.lexicon import Lexicon
from densevidcap.errors import ModelError
from densevidcap.regions.search import pool_words
from densevidcap.types import Box, FloatArray, FrameGrid, RegionSequence

CONTENT = frozenset({"NOUN", "PROPN", "VERB", "ADJ"})
"""Parts of speech that one can see; "a" and "of" are in every clip and say nothing of it."""


@dataclass(frozen=True)
class ShownWord:
    """A word of a clip, and the one region of one frame that shows it best."""

    word: str
    pos: str
    probability: float
    """That the clip shows it."""
    peak: float
    """Its probability in the strongest region."""
    frame: int
    region: int
    time: float
    """Seconds."""
    box: Box


def noisy_or_frames(probabilities: FloatArray) -> FloatArray:
    """P(a frame shows a word) by noisy-OR over its regions (Eq. 2): (…, R, W) to (…, W)."""
    # What only draws or chooses words starts without torch.
    import torch

    from densevidcap.models.losses import noisy_or

    return np.asarray(noisy_or(torch.from_numpy(probabilities).logit()).numpy())


def score_clip(probabilities: FloatArray) -> FloatArray:
    """P(the clip shows a word), the mean over its frames: (T, R, W) to (W,)."""
    return np.asarray(noisy_or_frames(probabilities).mean(axis=0))


def show_word(seen: FrameGrid, lexicon: Lexicon, place: int) -> ShownWord:
    """What a clip has of the word at that place of the lexicon."""
    entry, responses = lexicon.entries[place], seen.probabilities[:, :, place]
    frame, region = divmod(int(responses.argmax()), len(seen.grid))
    return ShownWord(
        word=entry.word,
        pos=entry.pos,
        probability=float(score_clip(responses[:, :, None])[0]),
        peak=float(responses[frame, region]),
        frame=frame,
        region=region,
        time=float(seen.times[frame]),
        box=seen.grid.box(region),
    )


def rank_words(
    seen: FrameGrid, lexicon: Lexicon, top: int, all_words: bool = False
) -> list[ShownWord]:
    """The clip's most probable words, most probable first; content words unless `all_words`."""
    order = np.argsort(-score_clip(seen.probabilities), kind="stable")
    kept = [place for place in order if all_words or lexicon.entries[place].pos in CONTENT]
    return [show_word(seen, lexicon, int(place)) for place in kept[:top]]


def find_word(lexicon: Lexicon, word: str) -> int:
    """The word's place in the lexicon; for one that is not in it, the error names near ones."""
    place = lexicon.index.get(word.lower())
    if place is None:
        near = get_close_matches(word.lower(), lexicon.words, n=5, cutoff=0.6)
        hint = f"it has {', '.join(near)}" if near else "try another word"
        raise ModelError(f"'{word}' is not among the model's {len(lexicon):,} words; {hint}")
    return place


SHARED = 0.9
"""How much of what the other sequences have too is held against a word. With 1, sequences that are
alike would be told apart by chance; so they are given their most probable words."""


@dataclass(frozen=True)
class SequenceWord:
    """A word along a region-sequence."""

    word: str
    responses: tuple[float, ...]
    """P(word | region), one for each of the sequence's frames."""

    @property
    def probability(self) -> float:
        """In the region that shows it best."""
        return max(self.responses)


@dataclass(frozen=True)
class WordedSequence:
    """A region-sequence with the words that it shows best beyond the others, best first."""

    sequence: RegionSequence
    words: tuple[SequenceWord, ...]


def distinguish(pooled: FloatArray) -> FloatArray:
    """(K, W): how well each word sets a sequence apart, from max-pooled probabilities (K, W).

    A word counts by its probability beyond the mean of the other sequences.
    """
    others = (pooled.sum(axis=0) - pooled) / max(1, len(pooled) - 1)
    return np.asarray(pooled - SHARED * others)


def choose_words(
    sequences: Sequence[RegionSequence], clip: FrameGrid, lexicon: Lexicon, top: int
) -> list[WordedSequence]:
    """Give each sequence its `top` words among those that one can see."""
    content = np.flatnonzero([entry.pos in CONTENT for entry in lexicon.entries])
    scores = distinguish(pool_words(sequences, clip)[:, content])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
    return [
        WordedSequence(sequence, tuple(_follow(sequence, clip, lexicon, int(p)) for p in places))
        for sequence, places in zip(sequences, content[order], strict=True)
    ]


def _follow(
    sequence: RegionSequence, clip: FrameGrid, lexicon: Lexicon, place: int
) -> SequenceWord:
    responses = clip.probabilities[list(sequence.frames), list(sequence.regions), place]
    return SequenceWord(lexicon.words[place], tuple(responses.tolist()))
