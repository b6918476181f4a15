"""Small clips made on the spot; every frame is told from the others by its brightness."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from io import BytesIO
from pathlib import Path

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.video.frame import VideoFrame
from PIL import Image

from densevidcap.types import FloatArray, UInt8Array

Size = tuple[int, int]
SIZE: Size = (64, 48)
SOUND_RATE = 44_100


def paint(index: int, count: int, size: Size = SIZE) -> UInt8Array:
    """(H, W, 3): brighter with every index and to the right, red at the top left."""
    width, height = size
    image = np.empty((height, width, 3))
    image[:] = (20 + 160 * index / max(1, count - 1) + np.linspace(0, 60, width))[None, :, None]
    image[: height // 2, : width // 4] = (250, 20, 20)
    return image.astype(np.uint8)


def brightness(image: UInt8Array) -> float:
    """What `paint` raises from frame to frame, read away from the red corner."""
    return float(image[image.shape[0] * 3 // 4 :].mean())


def tone(seconds: float) -> FloatArray:
    """(2, samples): a sine of half the full scale, the same on both channels."""
    wave = np.sin(2 * np.pi * 440 * np.arange(round(seconds * SOUND_RATE)) / SOUND_RATE) / 2
    return np.stack([wave, wave]).astype(np.float32)


def write_video(
    path: Path,
    count: int = 40,
    *,
    codec: str = "libx264",
    sizes: Sequence[Size] = (SIZE,),
    pixels: str = "yuv420p",
    milliseconds: Sequence[int] | None = None,
    rotation: int = 0,
    options: Mapping[str, str] | None = None,
    container_options: Mapping[str, str] | None = None,
    sounds: Sequence[FloatArray] = (),
    sound_delay: float = 0.0,
) -> Path:
    """Painted frames, ten a second or at the given times; one stream for each size and sound."""
    times = milliseconds or range(0, count * 100, 100)
    with av.open(str(path), "w", options=dict(container_options or {})) as container:
        videos = [container.add_stream(codec, rate=10, options=options) for _ in sizes]
        audios = [container.add_stream("aac", rate=SOUND_RATE, layout="stereo") for _ in sounds]
        for video, size in zip(videos, sizes, strict=True):
            video.width, video.height = size
            video.pix_fmt = pixels
            if milliseconds:
                video.codec_context.time_base = Fraction(1, 1000)
            if rotation:
                video.set_display_rotation(rotation)
        for video, size in zip(videos, sizes, strict=True):
            for index, time in enumerate(times):
                picture = VideoFrame.from_ndarray(paint(index, len(times), size))
                picture.pts, picture.time_base = time, Fraction(1, 1000)
                container.mux(video.encode(picture))
            container.mux(video.encode())
        for audio, sound in zip(audios, sounds, strict=True):
            sample = AudioFrame.from_ndarray(sound, "fltp", "stereo")
            sample.sample_rate, sample.time_base = SOUND_RATE, Fraction(1, SOUND_RATE)
            sample.pts = round(sound_delay * SOUND_RATE)
            container.mux(audio.encode(sample))
            container.mux(audio.encode())
    return path


def write_gif(path: Path, count: int = 12, milliseconds: int = 100) -> Path:
    first, *rest = (Image.fromarray(paint(index, count)) for index in range(count))
    first.save(path, save_all=True, append_images=rest, duration=milliseconds, loop=0)
    return path


def write_folder(path: Path, count: int = 12) -> Path:
    path.mkdir()
    for index in range(count):
        # Unpadded numbers, so that sorting by letter would mix them up.
        Image.fromarray(paint(index, count)).save(path / f"frame{index}.png")
    return path


def write_shard(path: Path, files: Mapping[str, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, BytesIO(data))
    return path


def encode_picture(image: UInt8Array, kind: str = "PNG") -> bytes:
    buffer = BytesIO()
    Image.fromarray(image).save(buffer, kind)
    return buffer.getvalue()
