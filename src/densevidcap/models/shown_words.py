"""The words that a clip shows: how probable each is, and where and when it is strongest."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
import torch

from densevidcap.data.lexicon import CONTENT, Lexicon
from densevidcap.errors import ModelError
from densevidcap.models.losses import noisy_or
from densevidcap.types import Box, FloatArray, FrameGrid, SourceFrame


@dataclass(frozen=True)
class ShownWord:
    """A word of a clip, and the one region of one frame that shows it best."""

    word: str
    pos: str
    probability: float
    """That the clip shows it."""
    peak: float
    """Its probability in the strongest region."""
    index: int
    """Of that frame, among those that were looked at."""
    region: int
    time: float
    """Seconds."""
    box: Box
    source_frame: SourceFrame | None = None
    """The same frame among all of the clip's."""


def noisy_or_frames(probabilities: FloatArray) -> FloatArray:
    """P(a frame shows a word) by noisy-OR over its regions (Eq. 2): (…, R, W) to (…, W)."""
    return np.asarray(noisy_or(torch.from_numpy(probabilities).logit()).numpy())


def score_clip(seen: FrameGrid, words: slice = slice(None)) -> FloatArray:
    """P(the clip shows a word) (W,), of all words or of some."""
    whole = None if seen.frame_words is None else seen.frame_words[:, words]
    return score_frames(seen.probabilities[:, :, words], whole)


def score_frames(probabilities: FloatArray, whole: FloatArray | None = None) -> FloatArray:
    """The mean over frames of what their regions tell of words: (T, R, W) to (W,).

    Of the first V words, of which whole frames tell too (T, V), it is half way between both in
    log-odds.
    """
    shown = np.asarray(noisy_or_frames(probabilities).mean(axis=0))
    if whole is None:
        return shown
    count = whole.shape[1]
    both = _log_odds(shown[:count]) + _log_odds(whole.mean(axis=0))
    return np.concatenate([1 / (1 + np.exp(-both / 2)), shown[count:]])


def _log_odds(probabilities: FloatArray) -> FloatArray:
    kept = probabilities.clip(1e-7, 1 - 1e-7)
    return np.asarray(np.log(kept) - np.log1p(-kept))


def show_word(seen: FrameGrid, lexicon: Lexicon, index: int) -> ShownWord:
    """What a clip has of the lexicon's word of that index."""
    entry, responses = lexicon.entries[index], seen.probabilities[:, :, index]
    strongest, region = divmod(int(responses.argmax()), len(seen.grid))
    source = seen.source_frames
    return ShownWord(
        word=entry.word,
        pos=entry.pos,
        probability=float(score_clip(seen, slice(index, index + 1))[0]),
        peak=float(responses[strongest, region]),
        index=strongest,
        region=region,
        time=float(seen.times[strongest]),
        box=seen.grid.box(region),
        source_frame=None if source is None else SourceFrame(int(source[strongest])),
    )


def rank_words(
    seen: FrameGrid, lexicon: Lexicon, top: int, all_words: bool = False
) -> list[ShownWord]:
    """The clip's most probable words, most probable first; content words unless `all_words`."""
    order = np.argsort(-score_clip(seen), kind="stable")
    kept = [index for index in order if all_words or lexicon.entries[index].pos in CONTENT]
    return [show_word(seen, lexicon, int(index)) for index in kept[:top]]


def find_word(lexicon: Lexicon, word: str) -> int:
    """The word's index in the lexicon; for one that is not in it, the error names near ones."""
    index = lexicon.index.get(word.lower())
    if index is None:
        near = get_close_matches(word.lower(), lexicon.words, n=5, cutoff=0.6)
        hint = f"it has {', '.join(near)}" if near else "try another word"
        raise ModelError(f"'{word}' is not among the model's {len(lexicon):,} words; {hint}")
    return index
