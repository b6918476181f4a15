"""A stream that is read from the clip itself: what motion or sound needs is a file like this and a
line."""

from __future__ import annotations

import numpy as np

from densevidcap.data.clip import Clip
from densevidcap.data.sampling import Shot
from densevidcap.models.streams import ExtractedStream, Level
from densevidcap.types import FloatArray, TimeArray


class MeanColour(ExtractedStream):
    """The mean colour of each frame."""

    name = "mean_colour"
    level: Level = "frame"
    features = 3

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.lacking: set[str] = set()
        """Clips without colours."""
        self.broken: set[str] = set()
        """Clips whose colours cannot be read."""

    def extract(self, clip: Clip, times: TimeArray, span: Shot) -> FloatArray | None:
        self.asked.append(clip.name)
        if clip.name in self.broken:
            raise RuntimeError("colours are upside down")
        if clip.name in self.lacking:
            return None
        assert span[0] <= times[0] <= times[-1] <= span[1]
        chosen = np.searchsorted(clip.times(), times)
        images = [each.image for each in clip.pick(chosen.tolist(), (8, 8))]
        return np.asarray(np.stack(images).mean(axis=(1, 2)), np.float32)


class FirstColour(MeanColour):
    """That of the first frame, for the whole clip."""

    name = "first_colour"
    level = "clip"

    def extract(self, clip: Clip, times: TimeArray, span: Shot) -> FloatArray | None:
        colours = super().extract(clip, times, span)
        return None if colours is None else colours[0]
