"""Small sound clips of every codec and container that PyAV can write here, to be damaged."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import av
from av.video.frame import VideoFrame
from tests.data.made_clips import paint

from densevidcap.data.clip import open_clip
from densevidcap.errors import DenseVidCapError

FRAMES = 6
SECONDS_A_SEED = 20
SIZES = ((64, 48), (128, 96), (176, 144), (320, 240), (720, 576), (1920, 1080))
"""Tried in turn: old codecs know few sizes."""
HOSTS = ("matroska", "mov", "avi", "nut", "mxf", "asf", "apng", "gif", "rm")
"""Containers that are tried for each codec."""
GUESTS = ("mpeg4", "h264", "mpeg2video", "mpeg1video", "mjpeg", "vp9", "flv", "rawvideo", "dvvideo")
"""Codecs that are tried for each container, after the one that it asks for."""

# They send to a network or a device, or write tables of what others hold.
_NO_FILES = {
    "alsa",
    "dash",
    "fbdev",
    "fifo",
    "hds",
    "hls",
    "null",
    "oss",
    "rtp",
    "rtp_mpegts",
    "rtsp",
    "sap",
    "segment",
    "smoothstreaming",
    "stream_segment",
    "tee",
    "video4linux2",
    "whip",
    "webm_chunk",
    "webm_dash_manifest",
}
_NO_HARDWARE = ("_amf", "_nvenc", "_qsv", "_v4l2m2m")


def write_seeds(
    folder: Path, codecs: Sequence[str] | None = None, containers: Sequence[str] | None = None
) -> list[Path]:
    """One file a codec and one a container; those that cannot be read back are left out."""
    codecs = list_codecs() if codecs is None else codecs
    containers = list_containers() if containers is None else containers
    return [path for path in _write_all(folder, codecs, containers) if path is not None]


def list_codecs() -> list[str]:
    """Video encoders that need no hardware."""
    return [
        name
        for name in sorted(av.codecs_available)
        if not name.endswith(_NO_HARDWARE) and _is_encoder(name)
    ]


def list_containers() -> list[str]:
    names = sorted(name.split(",")[0] for name in av.formats_available)
    return [name for name in dict.fromkeys(names) if name not in _NO_FILES and _is_muxer(name)]


def _write_all(
    folder: Path, codecs: Sequence[str], containers: Sequence[str]
) -> Iterator[Path | None]:
    for codec in codecs:
        tried = ((folder / f"codec-{codec}.{host}", host, codec) for host in HOSTS)
        yield next((path for path, *how in tried if _is_made(path, *how)), None)
    for host in containers:
        guests = dict.fromkeys([*_ask_for_codec(host, folder), *GUESTS])
        tried = ((folder / f"container-{host}-{codec}.{host}", host, codec) for codec in guests)
        yield next((path for path, *how in tried if _is_made(path, *how)), None)


def _is_made(path: Path, host: str, codec: str) -> bool:
    """In a process of its own, because some encoders end it or never come back."""
    process = multiprocessing.get_context("fork").Process(target=_make, args=(path, host, codec))
    process.start()
    process.join(SECONDS_A_SEED)
    if process.is_alive():
        process.kill()
        process.join()
    if process.exitcode:
        path.unlink(missing_ok=True)
    return process.exitcode == 0


def _make(path: Path, host: str, codec: str) -> None:
    """Ends the process: with 0 if there is a clip that we can read."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    warnings.simplefilter("ignore")
    code = 1
    for size in SIZES:
        try:
            _encode(path, host, codec, size)
            open_clip(path).sample()
        except (DenseVidCapError, av.FFmpegError, ValueError, TypeError, RuntimeError, OSError):
            continue
        code = 0
        break
    os._exit(code)


def _encode(path: Path, host: str, codec: str, size: tuple[int, int]) -> None:
    with av.open(str(path), "w", format=host) as container:
        stream = container.add_stream(codec, rate=25)
        formats = av.Codec(codec, "w").video_formats or []
        names = [each.name for each in formats]
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p" if not names or "yuv420p" in names else names[0]
        stream.codec_context.options = {"strict": "experimental"}
        for index in range(FRAMES):
            frame = VideoFrame.from_ndarray(paint(index, FRAMES, size))
            frame.pts, frame.time_base = index, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def _ask_for_codec(host: str, folder: Path) -> list[str]:
    try:
        container = av.open(str(folder / "asked"), "w", format=host)
        return [container.default_video_codec]
    except (av.FFmpegError, ValueError, AttributeError, OSError):
        return []


def _is_encoder(name: str) -> bool:
    try:
        return av.Codec(name, "w").type == "video"
    except ValueError:
        return False


def _is_muxer(name: str) -> bool:
    try:
        return av.ContainerFormat(name, "w").is_output
    except ValueError:
        return False
