"""The sound beside a video's frames."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, groupby

import numpy as np
import numpy.typing as npt
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.error import FFmpegError

from densevidcap.data.limits import Limits
from densevidcap.types import FloatArray

Int16Array = npt.NDArray[np.int16]
_BYTES_A_SAMPLE = 4


def read_sound(
    container: InputContainer, start: float, rate: int, clip: str, limits: Limits
) -> FloatArray | None:
    """(samples,) mono in [-1, 1] at `rate` Hz, from `start` seconds on the file's clock.

    Silence fills the time between `start` and the first sound. None if all is silent.
    """
    stream = container.streams.best("audio")
    if not isinstance(stream, AudioStream) or stream.codec_context is None:
        return None
    frames = _decode(container, stream)
    first = next(frames, None)
    if first is None:
        return None
    delay = 0 if first.time is None else round((first.time - start) * rate)
    length = delay
    chunks: list[Int16Array] = []
    for chunk in _to_mono(chain([first], frames), rate):
        length += len(chunk)
        limits.check(clip, "max_duration", length / rate)
        limits.check(clip, "max_sound_bytes", length * _BYTES_A_SAMPLE)
        chunks.append(chunk)
    if not any(chunk.any() for chunk in chunks):
        return None
    sound = np.zeros(max(0, length), np.float32)
    place = delay
    for chunk in chunks:
        heard = chunk[max(0, -place) :]
        start = max(0, place)
        # 16 bits before, because FFmpeg's downmix keeps to full scale only for integers.
        sound[start : start + len(heard)] = heard / np.float32(2**15)
        place += len(chunk)
    return sound if sound.any() else None


def _decode(container: InputContainer, stream: AudioStream) -> Iterator[AudioFrame]:
    """The sound's frames, without those that are damaged."""
    with suppress(FFmpegError):
        for packet in container.demux(stream):
            with suppress(FFmpegError):
                yield from packet.decode()


def _to_mono(frames: Iterator[AudioFrame], rate: int) -> Iterator[Int16Array]:
    # A broadcast may switch between stereo and surround; a resampler takes one kind only.
    for _, alike in groupby(frames, lambda f: (f.format.name, f.layout.name, f.sample_rate)):
        resampler = AudioResampler("s16", "mono", rate)
        for frame in chain(alike, [None]):
            for resampled in resampler.resample(frame):
                # Sound that needs no change passes through, the closing None included.
                if resampled is not None:
                    yield resampled.to_ndarray()[0]
