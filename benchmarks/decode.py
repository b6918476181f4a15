"""Sampling 30 frames against OpenCV, and memory against the length of the video."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import av
import cv2
import numpy as np
from av.video.frame import VideoFrame
from PIL import Image

from densevidcap.data.clip import open_clip
from densevidcap.types import UInt8Array

SIZE = (320, 320)
FRAMES = 30
ROUNDS = 5
MEMORY_ALLOWED = 1.2


def run() -> None:
    with TemporaryDirectory() as folder:
        compare_speed(write_film(Path(folder) / "film.mp4", 20, 25, (640, 360)))
        compare_memory(Path(folder))


def compare_speed(film: Path) -> None:
    """Ways take turns, so that a busy moment of the machine hits all of them."""
    ways: dict[str, Callable[[Path], list[UInt8Array]]] = {
        "densevidcap": sample,
        "OpenCV, seek per frame": seek_per_frame,
        "OpenCV, from start to end": read_through,
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, read in ways.items():
            start = time.perf_counter()
            assert len(read(film)) == FRAMES
            seconds[name].append(time.perf_counter() - start)
    best = {name: min(times) for name, times in seconds.items()}
    print(f"{FRAMES} of 500 frames of 640x360 H.264 at {SIZE[0]}x{SIZE[1]}, best of {ROUNDS}:")
    for name, value in best.items():
        print(f"  {name:26} {value * 1000:6.0f} ms  {value / best['densevidcap']:5.2f}x ours")


def sample(film: Path) -> list[UInt8Array]:
    return list(open_clip(film).sample(size=SIZE).images)


def seek_per_frame(film: Path) -> list[UInt8Array]:
    capture = cv2.VideoCapture(str(film))
    count = int(capture.get(cv2.CAP_PROP_FRAME_COUNT))
    images = []
    for index in middles(count):
        capture.set(cv2.CAP_PROP_POS_FRAMES, index)
        images.append(finish(capture.read()[1]))
    return images


def read_through(film: Path) -> list[UInt8Array]:
    capture = cv2.VideoCapture(str(film))
    wanted = set(middles(int(capture.get(cv2.CAP_PROP_FRAME_COUNT))))
    images = []
    index = 0
    while capture.grab():
        if index in wanted:
            images.append(finish(capture.retrieve()[1]))
        index += 1
    return images


def middles(count: int) -> list[int]:
    return [int((k + 0.5) * count / FRAMES) for k in range(FRAMES)]


def finish(image: UInt8Array) -> UInt8Array:
    small = cv2.resize(image, SIZE, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2RGB))


def compare_memory(folder: Path) -> None:
    """Each video in a process of its own, whose peak is its own."""
    peaks = {}
    for name, seconds in {"minute": 60, "hour": 3600}.items():
        film = write_film(folder / f"{name}.mp4", seconds, 10, (160, 90))
        peaks[name] = peak_memory(film)
        print(f"  one {name:6} {peaks[name] / 2**20:6.1f} MB at most")
    print(f"  hour / minute = {peaks['hour'] / peaks['minute']:.3f} (allowed: {MEMORY_ALLOWED})")


def peak_memory(film: Path) -> int:
    """Bytes, of a process that samples the film and finds its shots."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from densevidcap.data.clip import open_clip\n"
        "from densevidcap.data.shots import find_shots\n"
        "clip = open_clip(sys.argv[1])\n"
        "clip.sample(), list(find_shots(clip))\n"
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])\n"
    )
    output = subprocess.run([sys.executable, "-c", code, film], capture_output=True, check=True)
    return int(output.stdout) * 1024


def write_film(path: Path, seconds: int, rate: int, size: tuple[int, int]) -> Path:
    """H.264 as cameras and sites write it: moving content, B-frames, a keyframe in 250 frames."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=rate, options={"preset": "veryfast"})
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        for index, image in enumerate(islice(pan(size), seconds * rate)):
            frame = VideoFrame.from_ndarray(image)
            frame.pts, frame.time_base = index, Fraction(1, rate)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def pan(size: tuple[int, int]) -> Iterator[UInt8Array]:
    """(H, W, 3): a window moving back and forth over a noisy landscape."""
    width, height = size
    generator = np.random.default_rng(0)
    coarse = Image.fromarray(generator.integers(0, 255, (9, 32, 3), dtype=np.uint8))
    wide = np.array(coarse.resize((2 * width, height), Image.Resampling.BICUBIC))
    noise = generator.integers(0, 24, wide.shape, dtype=np.uint8)
    wide = np.where(wide < 230, wide + noise, wide)
    steps = range(0, width, 3)
    for left in cycle([*steps, *reversed(steps)]):
        yield np.ascontiguousarray(wide[:, left : left + width])
