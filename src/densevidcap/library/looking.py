"""What is kept of the words that a clip shows, while it is looked at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from densevidcap.config import BoxesConfig
from densevidcap.data.lexicon import CONTENT, Lexicon
from densevidcap.data.sampling import Shot
from densevidcap.library.shown import ShownWords, find_middles, to_byte, to_rows
from densevidcap.models.shown_words import score_clip
from densevidcap.models.word_detector import LexicalFCN
from densevidcap.pipeline.confidence import Trust
from densevidcap.pipeline.word_boxes import place_words
from densevidcap.types import FloatArray, FrameGrid

SEEN = 0.1
"""A word is kept for a frame from this probability on that people name it in a region."""
BOXED = 0.15
"""A word gets a box from this probability on that people name it in the clip, and"""
MOST_BOXES = 40
"""so many of a segment do at most, the likeliest."""
FOLLOWED = 12
"""The likeliest of them have a box in the best frame of each of"""
PARTS = 3
"""so many parts of the segment, the others in the best frame of all."""
ALIKE = 0.9
"""Moments whose features have this cosine are one."""


def gather_words(
    model: LexicalFCN, trust: Trust, seen: FrameGrid, span: Shot, config: BoxesConfig
) -> ShownWords:
    """What a segment shows, from what the Lexical-FCN saw in its frames."""
    best = seen.probabilities.argmax(axis=1)
    peaks = trust.region.apply(np.take_along_axis(seen.probabilities, best[:, None], 1)[:, 0])
    frames, words = np.nonzero(peaks >= SEEN)
    clip = score_clip(seen)
    places = [
        (word, frame)
        for rank, word in enumerate(_choose_boxed(model.lexicon, trust.clip.apply(clip)))
        for frame in _choose_frames(peaks[:, word], PARTS if rank < FOLLOWED else 1)
    ]
    boxes = [_fit(model, seen, word, frame, config) for word, frame in places]
    small = np.min_scalar_type(len(model.lexicon))
    moments = _choose_moments(seen.features)
    return ShownWords(
        *span,
        grid=seen.grid,
        times=seen.times,
        clip=to_byte(clip),
        frames=frames.astype(np.uint16),
        words=words.astype(small),
        regions=best[frames, words].astype(np.uint16),
        likely=to_byte(peaks[frames, words]),
        boxed=np.array([word for word, _ in places], small),
        boxes=np.array(boxes, np.uint8).reshape(-1, 4),
        boxed_frames=np.array([frame for _, frame in places], np.uint16),
        look=seen.features.mean(axis=(0, 1)).astype(np.float16),
        moments=np.array(moments, np.uint16),
        vectors=to_rows(seen.features[moments]),
    )


def _choose_boxed(lexicon: Lexicon, named: FloatArray) -> list[int]:
    order = np.argsort(-named, kind="stable")[: 4 * MOST_BOXES].tolist()
    likely = (word for word in order if named[word] >= BOXED)
    return [word for word in likely if lexicon.entries[word].pos in CONTENT][:MOST_BOXES]


def _choose_frames(likely: FloatArray, parts: int) -> list[int]:
    """The best frame of all, and of each part if the word is seen there."""
    best = {int(likely.argmax())}
    for part in np.array_split(np.arange(len(likely)), parts):
        if len(part) and likely[part].max() >= SEEN:
            best.add(int(part[likely[part].argmax()]))
    return sorted(best)


def _choose_moments(features: FloatArray) -> list[int]:
    """Middle frames of parts that do not look like the part before: a still scene has one."""
    kept: list[int] = []
    for frame in find_middles(len(features)):
        if not kept or _compare(features[kept[-1]], features[frame]) < ALIKE:
            kept.append(frame)
    return kept


def _compare(one: FloatArray, other: FloatArray) -> float:
    """The cosine of all their features."""
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.vdot(one, other)) / lengths if lengths else 1.0


def _fit(
    model: LexicalFCN, seen: FrameGrid, word: int, frame: int, config: BoxesConfig
) -> list[int]:
    """The box in 255ths, at least one of them wide and high."""
    one = slice(frame, frame + 1)
    alone = replace(
        seen,
        times=seen.times[one],
        probabilities=seen.probabilities[one],
        features=seen.features[one],
        frame_vectors=None,
        patches=None if seen.patches is None else seen.patches[one],
        source_frames=None,
    )
    (place,) = place_words(model, alone, [model.lexicon.words[word]], config)
    left, top, right, bottom = (
        round(255 * edge)
        for edge in (place.box.left, place.box.top, place.box.right, place.box.bottom)
    )
    return [min(left, right - 1), min(top, bottom - 1), right, bottom]
