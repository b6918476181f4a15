"""What the evaluator looks at in a clip: the whole of it, and each of its region-sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from densevidcap.language.views import ClipView

CLIP_STREAMS = ("clip", "clip_words")
"""The mean of its frames (D,); the roots of its word probabilities (V,)."""
SEQUENCE_STREAMS = ("centred", "special_words")
"""What sets each sequence apart: its mean region minus the clip's mean (K, D); the roots of its
word probabilities minus their mean over the clip's sequences (K, V)."""

Evidence = Mapping[str, npt.NDArray[np.float16]]
"""A clip's streams by name. 16 bits are what the views of a corpus are kept in."""


def gather(view: ClipView) -> Evidence:
    features = np.asarray(view.features, np.float32)
    frames = np.arange(len(features))
    clip = features.mean(axis=(0, 1))
    words = np.sqrt(np.asarray(view.sequence_words, np.float32))
    streams = {
        "clip": clip,
        "clip_words": np.sqrt(np.asarray(view.clip_words, np.float32)),
        "centred": features[frames, view.paths].mean(axis=1) - clip,
        "special_words": words - words.mean(axis=0),
    }
    return {name: stream.astype(np.float16) for name, stream in streams.items()}


class Shelf:
    """The evidence of C clips of K sequences each, side by side."""

    def __init__(self, clips: Sequence[Evidence]) -> None:
        self._streams = {
            name: torch.from_numpy(np.stack([clip[name] for clip in clips]))
            for name in (*CLIP_STREAMS, *SEQUENCE_STREAMS)
        }

    def take(self, clips: Tensor, sequences: Tensor | None = None) -> dict[str, Tensor]:
        """Streams (N, …) of the clips (N,), with those of their sequences (N,) if named."""
        taken = {name: self._streams[name][clips].float() for name in CLIP_STREAMS}
        if sequences is not None:
            for name in SEQUENCE_STREAMS:
                taken[name] = self._streams[name][clips, sequences].float()
        return taken
