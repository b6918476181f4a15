"""A clip as sentences are made from it: its region-sequences and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from densevidcap.models.shown_words import score_clip
from densevidcap.regions.objectives import IndexArray
from densevidcap.regions.search import pool_words
from densevidcap.types import FloatArray, FrameGrid, RegionSequence


@dataclass(frozen=True)
class ClipView:
    """K region-sequences through T frames, and the probabilities of the V most frequent words."""

    features: FloatArray
    """(T, R, D)"""
    paths: IndexArray
    """(K, T): each sequence's region in each frame."""
    sequence_words: FloatArray
    """(K, V): the highest probability along the sequence."""
    clip_words: FloatArray
    """(V,): P(the clip shows the word)."""
    category: FloatArray | None = None
    """(C,): P(category)."""
    frame_vectors: FloatArray | None = None
    """(T, D): one for each whole frame, where the eyes have such."""
    extracted: Mapping[str, FloatArray] = field(default_factory=dict)
    """Streams that were read from the clip itself: name to (T, D) or (D,). None that it lacks."""


def view_clip(
    seen: FrameGrid,
    sequences: Sequence[RegionSequence],
    words: int,
    extracted: Mapping[str, FloatArray] | None = None,
) -> ClipView:
    """Of sequences through all frames; `words` is V."""
    return ClipView(
        seen.features,
        np.array([sequence.regions for sequence in sequences]),
        pool_words(sequences, seen)[:, :words],
        score_clip(seen, slice(words)),
        frame_vectors=seen.frame_vectors,
        extracted=extracted or {},
    )


@dataclass(frozen=True)
class Row:
    """One region-sequence to describe, seen in some of its frames."""

    view: ClipView
    sequence: int
    frames: IndexArray
    is_alone: bool = False
    """Whether nothing is told but the sequence itself: a region's voice, and not the clip's."""

    @cached_property
    def _seen(self) -> tuple[FloatArray, FloatArray]:
        # The features of all regions are let go again: those of a batch are too many to keep.
        features = np.asarray(self.view.features[self.frames], np.float32)
        path = self.view.paths[self.sequence, self.frames]
        return features[np.arange(len(path)), path], features.mean(axis=1)

    @property
    def regions(self) -> FloatArray:
        """(T, D): its own region of each frame."""
        return self._seen[0]

    @property
    def means(self) -> FloatArray:
        """(T, D): of all regions of each frame."""
        return self._seen[1]

    @property
    def frame_vectors(self) -> FloatArray | None:
        """(T, D): of each whole frame."""
        vectors = self.view.frame_vectors
        return None if vectors is None else np.asarray(vectors[self.frames], np.float32)

    @cached_property
    def words(self) -> FloatArray:
        """(K, V): roots of every sequence's word probabilities.

        A root brings the many small probabilities nearer to the few large ones.
        """
        return np.sqrt(np.asarray(self.view.sequence_words, np.float32))


def look(
    view: ClipView,
    sequences: Sequence[int] | None = None,
    most: int | None = None,
    is_alone: bool = False,
) -> list[Row]:
    """The view's sequences, each in all of its frames, or in at most so many, evenly spread."""
    count = view.paths.shape[1]
    frames = spread_evenly(count, min(count, most or count))
    chosen = range(len(view.paths)) if sequences is None else sequences
    return [Row(view, sequence, frames, is_alone) for sequence in chosen]


def spread_evenly(count: int, chosen: int) -> IndexArray:
    """(chosen,): the frames in the middle of so many equal parts."""
    return np.floor((np.arange(chosen) + 0.5) * count / chosen).astype(np.intp)
