"""The times of a video's frames, read from its packets without decoding any."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from densevidcap.records import TimeArray

if TYPE_CHECKING:
    from av.packet import Packet
    from av.video.stream import VideoStream

WORTH_A_SEEK = 24
"""Frames that a seek must save: it empties the decoder's pipeline, which then fills anew."""


@dataclass
class Run:
    """Frames to decode in one go."""

    start: int | None
    """Timestamp of the keyframe to seek to; None to start where the file does."""
    wanted: list[int] = field(default_factory=list)
    """Ascending timestamps."""


@dataclass(frozen=True)
class Timeline:
    """When frames appear. Takes nine bytes a frame: a million frames in 9 MB."""

    stamps: npt.NDArray[np.int64]
    """(N,) ascending, in units of `unit`."""
    is_keyframe: npt.NDArray[np.bool_]
    """(N,)"""
    unit: Fraction
    """Seconds."""
    carried: bool
    """Whether decoded frames carry these stamps. If not, the n-th to come out has the n-th."""
    seekable: bool
    """Whether the file can be entered at a keyframe."""

    @property
    def start(self) -> float:
        """Seconds of the first frame on the file's own clock."""
        return float(int(self.stamps[0]) * self.unit)

    def times(self) -> TimeArray:
        """(N,) seconds from the first frame."""
        # As floats, since a large stamp times a large unit is more than 64 bits hold.
        units = (self.stamps - self.stamps[0]).astype(np.float64)
        return np.asarray(units * self.unit.numerator / self.unit.denominator)

    def stamp(self, index: int) -> int | None:
        return int(self.stamps[index]) if index < len(self.stamps) else None

    def second(self, stamp: int) -> float:
        """Seconds from the first frame."""
        return (stamp - int(self.stamps[0])) * self.unit.numerator / self.unit.denominator

    def plan(self, chosen: Sequence[int], seekable: bool = True) -> list[Run]:
        """The runs that together decode the `chosen` frames with the least work."""
        entries = np.flatnonzero(self.is_keyframe & (self.seekable and seekable))
        runs = [Run(None)]
        done = -1
        for index in chosen:
            passed = np.searchsorted(entries, index, side="right")
            if passed and entries[passed - 1] - done > WORTH_A_SEEK:
                runs.append(Run(int(self.stamps[entries[passed - 1]])))
            runs[-1].wanted.append(int(self.stamps[index]))
            done = index
        return [run for run in runs if run.wanted]


def read_timeline(
    packets: Iterable[Packet[VideoStream]], stream: VideoStream, seekable: bool
) -> Timeline:
    """Collect the packets' presentation times and put them in order."""
    stamps, keyframes = array("q"), array("b")
    complete = True
    for packet in packets:
        if packet.size and not packet.is_discard:
            complete &= packet.pts is not None
            stamps.append(packet.pts or 0)
            keyframes.append(packet.is_keyframe)
    order = np.argsort(stamps, kind="stable")
    ordered = np.array(stamps, dtype=np.int64)[order]
    is_keyframe = np.array(keyframes, dtype=np.bool_)[order]
    if not complete or (np.diff(ordered) <= 0).any():
        # A bare stream of pictures, or a broken clock: all we know is the rate.
        rate = stream.guessed_rate or stream.average_rate or Fraction(25)
        ordered, unit, carried = np.arange(len(ordered)), 1 / Fraction(rate), False
    else:
        # AVI stamps packets in the order of decoding, which is not that of display.
        unit = Fraction(stream.time_base or 1)
        carried = stream.container.format.name != "avi"
    return Timeline(ordered, is_keyframe, unit, carried, seekable and carried)
