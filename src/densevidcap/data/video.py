"""Videos and animated GIFs: whatever FFmpeg reads, frame by frame or at chosen frames only."""

from __future__ import annotations

import warnings
from array import array
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream
from PIL import Image

from densevidcap.data.clip import Clip, ClipInfo, Extent, PickedFrame, Size
from densevidcap.data.containers import open_container
from densevidcap.data.limits import Limits
from densevidcap.data.pictures import lay_on_white, to_array
from densevidcap.data.sound import read_sound
from densevidcap.errors import ClipError, DenseVidCapWarning
from densevidcap.types import FloatArray, SourceFrame, TimeArray, UInt8Array

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

    def place(self, stamp: int) -> SourceFrame:
        """Which frame has it, or would be the next; what a broken file says beyond is its last."""
        return SourceFrame(min(int(np.searchsorted(self.stamps, stamp)), len(self.stamps) - 1))

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


# Formats with an index of keyframes; in others a seek only guesses where a time lies.
_SEEKABLE = frozenset({"matroska,webm", "mov,mp4,m4a,3gp,3g2,mj2"})

# Decoders that can tell for sure that no other frame refers to a given one.
_DROPPABLE = frozenset({"h264", "mpeg1video", "mpeg2video", "mpeg4"})

_WAITING = 2
"""Decoded frames that wait to be converted."""

# The filter that images get, converting and scaling at once. Without the last three flags
# colours are off by one or two levels, which would set videos apart from images. FFmpeg's own
# numbers, because PyAV knows the last three by name only from 18 on.
_BICUBIC = 0x4 | 0x40000 | 0x2000 | 0x4000
"""BICUBIC, ACCURATE_RND, FULL_CHR_H_INT, FULL_CHR_H_INP."""


@dataclass(frozen=True)
class VideoClip(Clip):
    """The best video stream of a file and the best sound beside it."""

    name: str
    extent: Extent
    limits: Limits

    @cached_property
    def info(self) -> ClipInfo:
        times = self.times()
        with self._open() as container:
            for _, frame in self._decode(container):
                size = (frame.width, frame.height)
                displayed = size[::-1] if _quarter_turns(frame) % 2 else size
                return ClipInfo.measure(displayed, times, bool(container.streams.audio))
        raise ClipError(f"{self.name}: no frame can be decoded; is the file complete?")

    def times(self) -> TimeArray:
        return self._timeline.times()

    def stream(self, size: Size | None = None) -> Iterator[tuple[float, UInt8Array]]:
        timeline = self._timeline
        screen = _Screen(size)
        with self._open() as container:
            for stamp, frame in self._decode(container):
                yield timeline.second(stamp), screen.show(frame)

    def stretch(
        self, first: int, end: int, size: Size | None = None
    ) -> Iterator[tuple[float, UInt8Array]]:
        timeline = self._timeline
        wanted = timeline.stamps[first:end]
        if not len(wanted):
            return
        start = timeline.plan([first])[0].start
        if start is not None and not self._enters(start):
            start = None
        screen = _Screen(size)
        with self._open() as container:
            if start is not None:
                container.seek(start, stream=self._video(container))
            for stamp, frame in self._decode(container):
                if stamp > wanted[-1]:
                    break
                if stamp >= wanted[0]:
                    yield timeline.second(stamp), screen.show(frame)

    def _enters(self, start: int) -> bool:
        """Whether a seek to that keyframe comes out there, or before."""
        with self._open() as container:
            container.seek(start, stream=self._video(container))
            first = next(self._decode(container), None)
        return first is not None and first[0] <= start

    @property
    def seekable(self) -> bool:
        """Whether the file can be entered in the middle."""
        return self._timeline.seekable

    def pick(self, chosen: Sequence[int], size: Size | None = None) -> Iterator[PickedFrame]:
        timeline = self._timeline
        runs = timeline.plan(chosen)
        found = self._read(runs, size)
        exact = [stamp for stamp, _ in found] == [stamp for run in runs for stamp in run.wanted]
        if not exact and any(run.start is not None for run in runs):
            # A seek missed its keyframe, or frames after it lean on what came before:
            # only the way from the start is sure.
            found = self._read(timeline.plan(chosen, seekable=False), size)
        for stamp, image in found:
            yield PickedFrame(timeline.place(stamp), timeline.second(stamp), image)

    def sound(self, rate: int = 16_000) -> FloatArray | None:
        start = self._timeline.start
        with self._open() as container:
            return read_sound(container, start, rate, self.name, self.limits)

    @cached_property
    def _timeline(self) -> Timeline:
        with self._open() as container:
            stream = self._video(container)
            # One more than allowed tells a clip that is too long without reading all of it.
            packets = islice(self._packets(container, stream), self.limits.max_frames + 1)
            timeline = read_timeline(packets, stream, container.format.name in _SEEKABLE)
        if not len(timeline.stamps):
            raise ClipError(f"{self.name}: holds no frames; is the file complete?")
        self.limits.check(self.name, "max_frames", len(timeline.stamps))
        self.limits.check(self.name, "max_duration", timeline.second(int(timeline.stamps[-1])))
        return timeline

    @contextmanager
    def _open(self) -> Iterator[InputContainer]:
        try:
            with open_container(self.extent, self.limits) as container:
                yield container
        except FFmpegError as error:
            raise ClipError(
                f"{self.name}: cannot be read as a video ({error.strerror});"
                " check the file, or convert it with ffmpeg"
            ) from error

    def _video(self, container: InputContainer) -> VideoStream:
        stream = container.streams.best("video")
        # The cover of a song is a video stream too.
        if not isinstance(stream, VideoStream) or stream.disposition & Disposition.attached_pic:
            raise ClipError(f"{self.name}: has no video stream; choose another file")
        if stream.codec_context is None:
            raise ClipError(f"{self.name}: its codec is unknown here; convert it with ffmpeg")
        size = stream.width, stream.height
        if size == (0, 0):
            # Where the first frame was refused, FFmpeg forgets the size that the file declares.
            with open_container(self.extent, self.limits, decode=False) as unread:
                for declared in unread.streams.video:
                    if declared.index == stream.index:
                        size = declared.width, declared.height
        self.limits.check_frame(self.name, *size)
        return stream

    def _packets(
        self, container: InputContainer, stream: VideoStream
    ) -> Iterator[Packet[VideoStream]]:
        """The stream's packets, up to where the file breaks off."""
        try:
            yield from container.demux(stream)
        except FFmpegError:
            self._warn_of_damage()

    def _read(self, runs: Sequence[Run], size: Size | None) -> list[tuple[int, UInt8Array]]:
        """The frames that the runs want, with their stamps."""
        stamps, images = [], []
        screen = _Screen(size)
        # Decoding goes on while a frame is converted: both leave Python's lock alone.
        with self._open() as container, ThreadPoolExecutor(1) as background:
            for run in runs:
                if run.start is not None:
                    container.seek(run.start, stream=self._video(container))
                due = deque(run.wanted)
                for stamp, frame in self._decode(container, set(run.wanted)):
                    if stamp < due[0]:
                        continue
                    stamps.append(stamp)
                    images.append(background.submit(screen.show, frame))
                    # No more than two wait: they are of the size that they were stored in.
                    if len(images) > _WAITING:
                        images[-_WAITING - 1].result()
                    # More than one is due when packets held no intact frame.
                    while due and due[0] <= stamp:
                        due.popleft()
                    if not due:
                        break
        return [(stamp, image.result()) for stamp, image in zip(stamps, images, strict=True)]

    def _decode(
        self, container: InputContainer, wanted: Collection[int] | None = None
    ) -> Iterator[tuple[int, VideoFrame]]:
        """(stamp, frame) in display order; of frames not in `wanted`, as few as decoding allows."""
        timeline = self._timeline
        stream = self._video(container)
        context = stream.codec_context
        if not context.is_open:
            context.thread_type = "AUTO"
            # Frames may grow in mid-stream, after the check of the declared size.
            context.options = {"max_pixels": str(self.limits.max_pixels)}
        choosy = timeline.carried and context.name in _DROPPABLE
        last, count = None, 0
        for packet in self._packets(container, stream):
            if choosy and wanted is not None:
                context.skip_frame = "DEFAULT" if packet.pts in wanted else "NONREF"
            try:
                frames = packet.decode()
            except FFmpegError:
                self._warn_of_damage()
                continue
            for frame in frames:
                stamp = frame.pts if timeline.carried else timeline.stamp(count)
                count += 1
                size = frame.width, frame.height
                self.limits.check_frame(self.name, *size, frame.format.bits_per_pixel)
                # Time never runs backwards, whatever a damaged file says.
                if stamp is not None and (last is None or stamp > last):
                    last = stamp
                    yield stamp, frame

    def _warn_of_damage(self) -> None:
        warnings.warn(
            f"{self.name}: is damaged; what cannot be decoded is left out",
            DenseVidCapWarning,
            stacklevel=2,
        )


class _Screen:
    """Frames as a viewer sees them: upright, white behind what is transparent."""

    def __init__(self, size: Size | None) -> None:
        self._size = size
        # One for all frames: its tables and threads are made once.
        self._reformatter = VideoReformatter()

    def show(self, frame: VideoFrame) -> UInt8Array:
        """(H, W, 3)"""
        turns = _quarter_turns(frame)
        size = self._size[::-1] if self._size is not None and turns % 2 else self._size
        if any(component.is_alpha for component in frame.format.components):
            picture = Image.fromarray(frame.to_ndarray(format="rgba"))
            image = to_array(lay_on_white(picture), size)
        else:
            width, height = size or (frame.width, frame.height)
            scaled = self._reformatter.reformat(
                frame, width, height, "rgb24", interpolation=_BICUBIC
            )
            image = np.asarray(scaled.to_ndarray(), np.uint8)
        return np.ascontiguousarray(np.rot90(image, turns))


def _quarter_turns(frame: VideoFrame) -> int:
    """How often to turn the frame left, as its display matrix says."""
    return round(frame.rotation / 90) % 4
