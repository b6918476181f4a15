"""New pictures of a clip as an H.264 film with the clip's own sound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from fractions import Fraction
from heapq import merge
from itertools import chain, groupby
from math import inf
from pathlib import Path
from sys import maxsize
from typing import TypeAlias

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.stream import VideoStream
from PIL import Image

from densevidcap.data.clip import Clip, Size
from densevidcap.data.containers import open_container
from densevidcap.data.sampling import end_of
from densevidcap.data.video import VideoClip
from densevidcap.files import replacing, workspace
from densevidcap.types import DenseCaptions, UInt8Array
from densevidcap.viz.captions import Panel, assign_colours, assign_lanes, mark_box
from densevidcap.viz.sequences import box_at
from densevidcap.viz.video import fit_video, write_video

RATE = 48_000
ENTRY = 1.0
"""Seconds of sound around a span that are decoded with it: codecs need some to begin with."""

_Packet: TypeAlias = "Packet[VideoStream] | Packet[AudioStream]"


Span: TypeAlias = tuple[float, float]
"""Seconds from the clip's first picture: from when, until when."""


def add_sound(silent: Path, clip: VideoClip, path: Path, span: Span = (0.0, inf)) -> None:
    """Write the MP4 at `silent` to `path` with the clip's best sound as AAC.

    Pictures are copied as they are; a few packets are held at a time. A clip without sound stays
    silent. Of the sound, what is heard in `span`, to the sample; it begins when the pictures do.
    """
    with (
        replacing(path) as temporary,
        av.open(str(silent)) as pictures,
        open_container(clip.extent, clip.limits) as source,
        # The index first, so that a browser can start before it has everything.
        av.open(str(temporary), "w", format="mp4", options={"movflags": "faststart"}) as film,
    ):
        shown = film.add_stream_from_template(pictures.streams.video[0])
        streams: list[Iterator[_Packet]] = [_copy(pictures, shown)]
        sound = source.streams.best("audio")
        # A codec that is unknown here has no context.
        if isinstance(sound, AudioStream) and sound.codec_context is not None:
            heard = film.add_stream("aac", rate=RATE, layout="stereo")
            decoded = _decode(source, sound, clip.limits.max_duration, span, clip.seekable)
            packets = _encode(_trim(_resample(decoded), span), heard)
            streams.append(_keep_forward(packets))
        for packet in merge(*streams, key=_seconds):
            film.mux(packet)


def _copy(container: InputContainer, into: VideoStream) -> Iterator[Packet[VideoStream]]:
    for packet in container.demux(video=0):
        # The last one is empty and only flushes decoders.
        if packet.dts is not None:
            packet.stream = into
            yield packet


def _resample(frames: Iterator[AudioFrame]) -> Iterator[AudioFrame]:
    # A broadcast may switch between stereo and surround; a resampler takes one kind only.
    for _, alike in groupby(frames, lambda f: (f.format.name, f.layout.name, f.sample_rate)):
        resampler = AudioResampler("fltp", "stereo", RATE)
        for frame in chain(alike, [None]):
            for resampled in resampler.resample(frame):
                # Sound that needs no change passes through, the closing None included.
                if resampled is not None:
                    yield resampled


def _trim(frames: Iterator[AudioFrame], span: Span) -> Iterator[AudioFrame]:
    """The samples inside the span, on a clock that begins with it; all there are, as they are."""
    if span == (0.0, inf):
        yield from frames
        return
    start, end = (round(side * RATE) if side < inf else maxsize for side in span)
    for frame in frames:
        if frame.pts is None or frame.time_base is None:
            continue
        first = round(frame.pts * frame.time_base * RATE)
        kept = slice(max(0, start - first), max(0, min(frame.samples, end - first)))
        samples = np.ascontiguousarray(frame.to_ndarray()[:, kept], np.float32)
        if samples.shape[1]:
            part = AudioFrame.from_ndarray(samples, "fltp", "stereo")
            part.sample_rate, part.time_base = RATE, Fraction(1, RATE)
            part.pts = max(first, start) - start
            yield part


def _encode(frames: Iterator[AudioFrame], into: AudioStream) -> Iterator[Packet[AudioStream]]:
    for frame in frames:
        yield from into.encode(frame)
    yield from into.encode(None)


def _decode(
    container: InputContainer, stream: AudioStream, longest: float, span: Span, seekable: bool
) -> Iterator[AudioFrame]:
    """Intact sound from the first picture on, which is where the new pictures' clock starts.

    A damaged file may stamp sound with any time. Past `longest` seconds it is left out: such a
    stamp may be too large for the frame's type, or for the film. What lies well outside the span
    is not decoded, where the file allows that.
    """
    start = _find_start(container)
    if seekable and span[0] > ENTRY:
        container.seek(round((float(start) + span[0] - ENTRY) * 1_000_000))
    with suppress(FFmpegError):
        for packet in container.demux(stream):
            with suppress(FFmpegError):
                for frame in packet.decode():
                    if frame.pts is None or frame.time_base is None:
                        continue
                    stamp = frame.pts - round(start / frame.time_base)
                    if stamp * frame.time_base > span[1] + ENTRY:
                        return
                    if 0 <= stamp * frame.time_base <= longest:
                        frame.pts = stamp
                        yield frame


def _keep_forward(packets: Iterator[Packet[AudioStream]]) -> Iterator[Packet[AudioStream]]:
    """Without those that a damaged file's clock puts before others, which no film takes."""
    last = None
    for packet in packets:
        if packet.dts is not None and (last is None or packet.dts > last):
            last = packet.dts
            yield packet


def _find_start(container: InputContainer) -> Fraction:
    """Seconds of the first picture on the file's own clock."""
    stream = container.streams.best("video")
    if stream is None or stream.start_time is None or stream.time_base is None:
        return Fraction(0)
    return stream.start_time * stream.time_base


def _seconds(packet: _Packet) -> float:
    return float((packet.dts or 0) * (packet.time_base or 0))


def write_film(
    path: Path,
    pictures: Iterable[tuple[float, Image.Image]],
    size: Size,
    clip: Clip,
    advance: Callable[[], None] = lambda: None,
    span: Span = (0.0, inf),
) -> None:
    """Write (seconds, picture) of that even size; `advance` is called after each.

    The sound is the clip's in `span`, which is when the pictures are of.
    """
    end = min(span[1], end_of(clip.times())) - span[0]
    if not isinstance(clip, VideoClip) or not clip.info.has_sound:
        write_video(path, pictures, size, end, advance)
        return
    with workspace(path.parent) as private:
        silent = private / "silent.mp4"
        write_video(silent, pictures, size, end, advance)
        add_sound(silent, clip, path, span)


def write_annotated(
    captions: DenseCaptions,
    clip: Clip,
    path: Path,
    advance: Callable[[], None],
    overwrite: bool = False,
) -> None:
    """An MP4 of every picture of the clip; `advance` is called after each.

    A caption's box is shown while the caption holds. Between the frames that were looked at it
    moves evenly, before the first and after the last one it stays.
    """
    width, height = fit_video((clip.info.width, clip.info.height))
    panel = Panel(captions.captions, width)
    lanes, colours = assign_lanes(captions.captions), assign_colours(captions.captions)
    size = width, height + panel.height

    def draw(seconds: float, image: UInt8Array) -> Image.Image:
        now = tuple(rank for rank, caption in enumerate(captions) if caption.holds_at(seconds))
        picture = Image.fromarray(image)
        # The best last, on top of the others.
        for rank in reversed(now):
            box = box_at(captions[rank].sequence, seconds)
            mark_box(picture, box, rank, lanes[rank], colours[rank])
        page = Image.new("RGB", size)
        page.paste(picture, (0, 0))
        page.paste(panel.draw(now), (0, height))
        return page

    pages = ((seconds, draw(seconds, image)) for seconds, image in clip.stream((width, height)))
    with replacing(path, overwrite) as temporary:
        write_film(temporary, pages, size, clip, advance)
