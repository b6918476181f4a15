"""Five thousand damaged files: each gives frames or one line that names it, in time and memory.

They are made of every codec and container that PyAV can write here. Every file is read in a worker
process, so that a crash or a hang is seen and does not end the run. It all stays on one core:
it takes about half an hour.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
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

from benchmarks.seeds import write_seeds
from densevidcap.data.clip import open_clip
from densevidcap.data.sampling import Sampling
from densevidcap.errors import DenseVidCapError
from densevidcap.export.report.footage import film_clip

CASES = 5000
BATCH = 50
"""Files that one worker reads, unless it dies of one."""
SECONDS_A_FILE = 30
MOST_MEMORY = 2**30
"""Bytes that a worker may hold, with the interpreter and the decoders themselves."""
TOO_MUCH = 3
"""A worker's exit code after a file that took more."""
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


def splice(data: bytes, generator: np.random.Generator) -> bytes:
    """A stretch of the file comes again at another place."""
    start, end = np.sort(generator.integers(0, len(data), 2)).tolist()
    place = generator.integers(0, len(data))
    return data[:place] + data[start:end] + data[place:]


def edit_fields(data: bytes, generator: np.random.Generator) -> bytes:
    """Numbers of a header become others that are at the edge of their types."""
    damaged = bytearray(data)
    for _ in range(generator.integers(1, 5)):
        width = int(generator.choice([1, 2, 4, 8]))
        place = int(generator.integers(0, max(1, min(2048, len(data) - width))))
        edges = (0, 1, 2 ** (8 * width - 1) - 1, 2 ** (8 * width - 1), 2 ** (8 * width) - 1)
        value = edges[generator.integers(len(edges))]
        field = value.to_bytes(width, "big")
        damaged[place : place + width] = field if generator.random() < 0.5 else field[::-1]
    return bytes(damaged)


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
    splice,
    edit_fields,
    replace_by_text,
    empty,
)


def run() -> None:
    os.nice(19)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with TemporaryDirectory() as folder:
        place = Path(folder)
        seeds = [(path.name, path.read_bytes()) for path in write_seeds(place)]
        intact = write_intact(place) + seeds
        print(f"  {len(seeds)} codecs and containers, {len(intact)} kinds of files", flush=True)
        outcomes, memory = read_all(islice(write_damaged(place, intact), CASES))
    print(f"  {sum(outcomes.values())} damaged files: {dict(outcomes)}")
    print(f"  at most {memory / 1e6:.0f} MB in a worker")


def write_intact(folder: Path) -> list[tuple[str, bytes]]:
    """(file name, bytes) of each kind; a shard's clip is called `clip`."""
    sound = [tone(2.0)]
    pictures = {f"clip.{index:02}.webp": paint(index, 4) for index in range(4)}
    paths = [
        write_video(folder / "h264.mp4", 20, sounds=sound),
        write_video(folder / "h264.mkv", 20, sounds=sound),
        write_video(folder / "h264.ts", 20, sounds=sound),
        write_video(folder / "mpeg4.avi", 20, codec="mpeg4", sounds=sound),
        write_video(folder / "mpeg4.mov", 20, codec="mpeg4", sounds=sound),
        write_video(folder / "mpeg4.nut", 20, codec="mpeg4", sounds=sound),
        write_video(folder / "mpeg4.asf", 20, codec="mpeg4", sounds=sound),
        write_video(folder / "h264.flv", 20, sounds=sound),
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


def write_damaged(
    folder: Path, intact: Sequence[tuple[str, bytes]], seed: int = 0
) -> Iterator[Path]:
    """Damaged files without end: every kind with every damage, again and again."""
    generator = np.random.default_rng(seed)
    number = 0
    while True:
        for damage in DAMAGES:
            for name, data in intact:
                path = folder / f"{number:04}-{damage.__name__}-{name}"
                path.write_bytes(damage(data, generator))
                number += 1
                yield path


def read_all(paths: Iterable[Path]) -> tuple[Counter[str], int]:
    """How often each outcome came, and the most bytes that a worker held.

    What should not happen is printed with the file's name; the other files are removed.
    """
    outcomes: Counter[str] = Counter()
    paths, memory, waiting = iter(paths), 0, list[Path]()
    while waiting := waiting + list(islice(paths, BATCH - len(waiting))):
        lines = run_worker(waiting)
        for path, line in zip(waiting, lines, strict=False):
            outcome, held = line.split(":")[0], line.rpartition("|")[2]
            memory = max(memory, int(held) if held.isdecimal() else 0)
            outcomes[outcome] += 1
            if outcome not in EXPECTED:
                print(f"  {path.name}: {line}", flush=True)
            path.unlink()
        waiting = waiting[len(lines) :]
    return outcomes, memory


def run_worker(paths: list[Path]) -> list[str]:
    """One line for each file read; the last one tells of the worker's death if it died."""
    command = [sys.executable, "-m", "benchmarks.corruption", *map(str, paths)]
    worker = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = worker.stdout.splitlines()
    if worker.returncode == TOO_MUCH:
        lines[-1] = f"memory: {lines[-1]}"
    elif worker.returncode == -signal.SIGALRM:
        lines.append(f"hang: over {SECONDS_A_FILE} s")
    elif worker.returncode:
        lines.append(f"crash: exit code {worker.returncode} {worker.stderr[-300:]!r}")
    return lines


def describe(path: Path) -> str:
    """What reading the file came to, all of it: pictures, shots, sound, and a film of them."""
    source = f"{path}::clip" if path.suffix == ".tar" else str(path)
    try:
        clip = open_clip(source)
        frames = clip.sample(Sampling("shots", 8), (32, 32))
        clip.sound()
        film_clip(clip, path.with_suffix(".film.mp4"), lambda: None)
    except DenseVidCapError as error:
        message = str(error)
        named = path.name in message and "\n" not in message
        return f"{'error' if named else 'nameless'}: {message!r}"
    except Exception as error:
        return f"traceback: {error!r}"
    finally:
        path.with_suffix(".film.mp4").unlink(missing_ok=True)
    return f"frames: {len(frames)}"


def measure_peak() -> int:
    """The most bytes that this process has held since its program began.

    `ru_maxrss` would not do: it also counts what the process that started this one held then.
    """
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for argument in sys.argv[1:]:
        # Kills the worker even if it hangs inside a decoder.
        signal.alarm(SECONDS_A_FILE)
        outcome = describe(Path(argument))
        held = measure_peak()
        print(f"{outcome}|{held}", flush=True)
        if held > MOST_MEMORY:
            sys.exit(TOO_MUCH)
