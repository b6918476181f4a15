"""A thousand damaged files: each must give frames or one line that names it, and end in time.

Every file is read in a worker process, so that a crash or a hang is seen and does not end the run.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image
from tests.data.made_clips import (
    encode_picture,
    paint,
    tone,
    write_gif,
    write_shard,
    write_video,
)

from densevidcap.data.clip import open_clip
from densevidcap.data.sampling import Sampling
from densevidcap.errors import DenseVidCapError

CASES = 1000
BATCH = 50
"""Files that one worker reads, unless it dies of one."""
SECONDS_A_FILE = 30
EXPECTED = frozenset({"frames", "error"})

Damage = Callable[[bytes, np.random.Generator], bytes]


def truncate(data: bytes, generator: np.random.Generator) -> bytes:
    return data[: generator.integers(0, len(data))]


def flip_bits(data: bytes, generator: np.random.Generator) -> bytes:
    """One to a hundred bits anywhere."""
    damaged = bytearray(data)
    for place in generator.integers(0, len(data), generator.integers(1, 101)):
        damaged[place] ^= 1 << generator.integers(8)
    return bytes(damaged)


def spoil_header(data: bytes, generator: np.random.Generator) -> bytes:
    """Bits near the start or the end, where formats keep sizes and tables."""
    edge = min(1024, len(data) // 4)
    if generator.random() < 0.5:
        return flip_bits(data[:edge], generator) + data[edge:]
    return data[:-edge] + flip_bits(data[-edge:], generator)


def claim_hugeness(data: bytes, generator: np.random.Generator) -> bytes:
    """Four bytes of a header become the largest numbers there are."""
    damaged = bytearray(data)
    for place in generator.integers(0, min(400, len(data) - 4), 3):
        damaged[place : place + 4] = b"\x7f\xff\xff\xff"
    return bytes(damaged)


def erase(data: bytes, generator: np.random.Generator) -> bytes:
    """A stretch of zeros, up to half the file: streams without content."""
    start = generator.integers(0, len(data))
    length = generator.integers(1, len(data) // 2)
    return data[:start] + bytes(len(data[start : start + length])) + data[start + length :]


def shuffle(data: bytes, generator: np.random.Generator) -> bytes:
    """The right blocks in the wrong order."""
    blocks = [data[start : start + 512] for start in range(0, len(data), 512)]
    return b"".join(blocks[index] for index in generator.permutation(len(blocks)))


def replace_by_text(data: bytes, generator: np.random.Generator) -> bytes:  # noqa: ARG001
    return b"this is not a clip\n" * int(generator.integers(0, 500))


def empty(data: bytes, generator: np.random.Generator) -> bytes:  # noqa: ARG001
    return b""


DAMAGES: tuple[Damage, ...] = (
    truncate,
    flip_bits,
    spoil_header,
    claim_hugeness,
    erase,
    shuffle,
    replace_by_text,
    empty,
)


def run() -> None:
    with TemporaryDirectory() as folder:
        outcomes = read_all(list(islice(write_damaged(Path(folder)), CASES)))
    print(f"  {sum(outcomes.values())} damaged files: {dict(outcomes)}")


def write_intact(folder: Path) -> list[tuple[str, bytes]]:
    """(file name, bytes) of each kind; a shard's clip is called `clip`."""
    sound = [tone(2.0)]
    pictures = {f"clip.{index:02}.webp": paint(index, 4) for index in range(4)}
    paths = [
        write_video(folder / "h264.mp4", 20, sounds=sound),
        write_video(folder / "h264.mkv", 20, sounds=sound),
        write_video(folder / "h264.ts", 20, sounds=sound),
        write_video(folder / "mpeg4.avi", 20, codec="mpeg4", sounds=sound),
        write_video(folder / "vp9.webm", 20, codec="libvpx-vp9"),
        write_gif(folder / "clip.gif"),
        write_shard(folder / "videos.tar", {"clip.mp4": (folder / "h264.mp4").read_bytes()}),
        write_shard(
            folder / "pictures.tar",
            {name: encode_picture(image, "WEBP") for name, image in pictures.items()},
        ),
    ]
    for suffix in ("png", "jpg", "webp", "tif", "bmp"):
        paths.append(folder / f"still.{suffix}")
        Image.fromarray(paint(0, 1)).save(paths[-1])
    return [(path.name, path.read_bytes()) for path in paths]


def write_damaged(folder: Path) -> Iterator[Path]:
    """Damaged files without end: every kind with every damage, again and again."""
    generator = np.random.default_rng(0)
    intact = write_intact(folder)
    number = 0
    while True:
        for damage in DAMAGES:
            for name, data in intact:
                path = folder / f"{number:04}-{damage.__name__}-{name}"
                path.write_bytes(damage(data, generator))
                number += 1
                yield path


def read_all(paths: list[Path]) -> Counter[str]:
    """How often each outcome came; what should not happen is printed with the file's name."""
    outcomes: Counter[str] = Counter()
    waiting = list(paths)
    while waiting:
        lines = run_worker(waiting[:BATCH])
        for path, line in zip(waiting, lines, strict=False):
            outcome = line.split(":")[0]
            outcomes[outcome] += 1
            if outcome not in EXPECTED:
                print(f"  {path.name}: {line}", flush=True)
        waiting = waiting[len(lines) :]
    return outcomes


def run_worker(paths: list[Path]) -> list[str]:
    """One line for each file read; the last one tells of the worker's death if it died."""
    command = [sys.executable, "-m", "benchmarks.corruption", *map(str, paths)]
    worker = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = worker.stdout.splitlines()
    if worker.returncode == -signal.SIGALRM:
        lines.append(f"hang: over {SECONDS_A_FILE} s")
    elif worker.returncode:
        lines.append(f"crash: exit code {worker.returncode}")
    return lines


def describe(path: Path) -> str:
    """What reading the file came to, all of it: picture, shots and sound."""
    source = f"{path}::clip" if path.suffix == ".tar" else str(path)
    try:
        clip = open_clip(source)
        frames = clip.sample(Sampling("shots", 8), (32, 32))
        clip.sound()
    except DenseVidCapError as error:
        message = str(error)
        named = path.name in message and "\n" not in message
        return f"{'error' if named else 'nameless'}: {message!r}"
    except Exception as error:
        return f"traceback: {error!r}"
    return f"frames: {len(frames)}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for argument in sys.argv[1:]:
        # Kills the worker even if it hangs inside a decoder.
        signal.alarm(SECONDS_A_FILE)
        print(describe(Path(argument)), flush=True)
