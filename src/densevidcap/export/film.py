"""New pictures of a clip as an H.264 film with the clip's own sound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from fractions import Fraction
from heapq import merge
from itertools import chain, groupby
from pathlib import Path
from typing import TypeAlias

import av
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
from densevidcap.data.video import VideoClip
from densevidcap.files import replacing, workspace
from densevidcap.types import DenseCaptions, UInt8Array
from densevidcap.viz.captions import Panel, assign_colours, assign_lanes, mark_box
from densevidcap.viz.sequences import box_at
from densevidcap.viz.video import fit_video, write_video

RATE = 48_000

_Packet: TypeAlias = "Packet[VideoStream] | Packet[AudioStream]"


def add_sound(silent: Path, clip: VideoClip, path: Path) -> None:
    """Write the MP4 at `silent` to `path` with the clip's best sound as AAC.

    Pictures are copied as they are; a few packets are held at a time. A clip without sound stays
    silent.
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
            longest = clip.limits.max_duration
            packets = _encode(_decode(source, sound, longest), heard)
            streams.append(_keep_forward(packets))
        for packet in merge(*streams, key=_seconds):
            film.mux(packet)


def _copy(container: InputContainer, into: VideoStream) -> Iterator[Packet[VideoStream]]:
    for packet in container.demux(video=0):
        # The last one is empty and only flushes decoders.
        if packet.dts is not None:
            packet.stream = into
            yield packet


def _encode(frames: Iterator[AudioFrame], into: AudioStream) -> Iterator[Packet[AudioStream]]:
    # A broadcast may switch between stereo and surround; a resampler takes one kind only.
    for _, alike in groupby(frames, lambda f: (f.format.name, f.layout.name, f.sample_rate)):
        resampler = AudioResampler("fltp", "stereo", RATE)
        for frame in chain(alike, [None]):
            for resampled in resampler.resample(frame):
                # Sound that needs no change passes through, the closing None included.
                if resampled is not None:
                    yield from into.encode(resampled)
    yield from into.encode(None)


def _decode(container: InputContainer, stream: AudioStream, longest: float) -> Iterator[AudioFrame]:
    """Intact sound from the first picture on, which is where the new pictures' clock starts.

    A damaged file may stamp sound with any time. Past `longest` seconds it is left out: such a
    stamp may be too large for the frame's type, or for the film.
    """
    start = _find_start(container)
    with suppress(FFmpegError):
        for packet in container.demux(stream):
            with suppress(FFmpegError):
                for frame in packet.decode():
                    if frame.pts is None or frame.time_base is None:
                        continue
                    stamp = frame.pts - round(start / frame.time_base)
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
    advance: Callable[[], None],
) -> None:
    """Write (seconds, picture) of that even size; `advance` is called after each."""
    if not isinstance(clip, VideoClip) or not clip.info.has_sound:
        write_video(path, pictures, size, advance)
        return
    with workspace(path.parent) as private:
        silent = private / "silent.mp4"
        write_video(silent, pictures, size, advance)
        add_sound(silent, clip, path)


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
